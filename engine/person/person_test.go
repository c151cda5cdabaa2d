package person_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/enginetest"
	"holdfast/store"
)

// mailFiles reads all files in a mail folder, by name.
func mailFiles(t *testing.T, folder string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string]string)
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(name)] = string(raw)
	}
	return files
}

func TestEraseDeletesWrittenMail(t *testing.T) {
	t.Parallel()
	for name, person := range map[string]store.Person{
		"by address": {Email: "P1@example.org"}, "by client": {Owner: enginetest.Client(1).Owner().String()},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, folder := enginetest.NoticeClinic(t)
				ctx := context.Background()
				for n := 1; n <= 2; n++ {
					r := enginetest.BookingOf(n, "checkup")
					r.SlotStart = c.Start.Add(time.Duration(n) * time.Hour)
					c.MustBook(r)
				}
				time.Sleep(time.Second)
				if n := len(mailFiles(t, folder)); n != 2 {
					t.Fatalf("%d messages were written, want 2", n)
				}
				if person.Email != "" { // a file that belongs to no delivery
					old := "To: <p1@example.org>\r\nSubject: your appointment\r\n\r\nDear P1\r\n"
					if err := os.WriteFile(filepath.Join(folder, "op-1-old.eml"), []byte(old), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				erased, err := c.Person.Erase(ctx, "user:jo", person)
				if err != nil {
					t.Fatal(err)
				}
				want := 1
				if person.Email != "" {
					want = 2
				}
				if erased.MailFiles != want || len(erased.MailFilesLeft) != 0 {
					t.Errorf("the answer has %d deleted files, and %v remain; want %d and none", erased.MailFiles,
						erased.MailFilesLeft, want)
				}
				left := mailFiles(t, folder)
				if len(left) != 1 {
					t.Errorf("%d messages remain, want only the other patient's", len(left))
				}
				for file, text := range left {
					if !strings.Contains(text, "p2@example.org") {
						t.Errorf("%s is left:\n%s", file, text)
					}
				}
			})
		})
	}
}

func TestEraseReportsRemainingEmail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, folder := enginetest.NoticeClinic(t)
		stuck := filepath.Join(folder, "op-1-stuck.eml", "in the way") // a directory cannot be read as mail
		if err := os.MkdirAll(stuck, 0o700); err != nil {
			t.Fatal(err)
		}
		erased, err := c.Person.Erase(context.Background(), "user:jo", store.Person{Email: "p1@example.org"})
		if err != nil || len(erased.MailFilesLeft) != 1 || erased.MailFilesLeft[0] != "op-1-stuck.eml" {
			t.Errorf("remaining: %v, error %v; want op-1-stuck.eml", erased.MailFilesLeft, err)
		}
	})
}

// afterReading is a store that runs the function then once, right after an appointment has been read.
type afterReading struct {
	store.Store
	then func()
}

func (s *afterReading) Appointment(ctx context.Context, id string) (store.Appointment, error) {
	a, err := s.Store.Appointment(ctx, id)
	if then := s.then; then != nil && err == nil {
		s.then = nil
		then()
	}
	return a, err
}

func TestEraseReachesEmailInProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &afterReading{}
		c, folder := enginetest.NoticeClinicOn(t, func(s store.Store) store.Store {
			db.Store = s
			return db
		})
		db.then = func() {
			if _, err := c.Person.Erase(context.Background(), "user:jo",
				store.Person{Email: "p1@example.org"}); err != nil {
				t.Error(err)
			}
		}
		r := enginetest.BookingOf(1, "checkup")
		r.SlotStart = c.Start
		c.MustBook(r)
		time.Sleep(time.Second)
		synctest.Wait()
		if db.then != nil {
			t.Fatal("the test read no appointment for an email")
		}
		if left := mailFiles(t, folder); len(left) != 0 {
			t.Errorf("left: %v, want none", left)
		}
	})
}
