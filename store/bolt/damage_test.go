package bolt_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/store"
	"holdfast/store/bolt"
)

// lived creates a queue, makes every kind of write, closes the queue, and returns the bytes of its file.
func lived(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "queue.bolt")
	q := bolt.WithoutSync(open(t, bolt.Options{Path: path}))
	for i := range 60 {
		op := webhook(fmt.Sprintf("op-%02d", i), nine.Add(time.Duration(i)*time.Second))
		op.Kind = []store.OperationKind{store.Webhook, store.Email, store.UpstreamBook}[i%3]
		op.AppointmentID = fmt.Sprint("appointment-", i%7)
		op.Payload = fmt.Appendf(nil, `{"note":%q}`, strings.Repeat("x", i*10))
		add(t, q, op)
	}
	for i := range 30 {
		op, err := q.Take(t.Context(), nine.Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		op.Status, op.FinishedAt = []store.OperationStatus{store.OperationCompleted, store.OperationFailed,
			store.OperationPending}[i%3], nine
		op.NextAttemptAt = nine.Add(2 * time.Hour)
		if err := q.Change(t.Context(), op, "changed", ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(q.Remove(t.Context(), "op-00"), q.Close()); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// contents returns everything that can be read from a queue.
func contents(t *testing.T, q store.Queue) string {
	t.Helper()
	list, err := q.Operations(t.Context(), store.OperationFilter{Limit: 500})
	n, err2 := q.Counts(t.Context())
	due, err3 := q.NextDue(t.Context())
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatalf("reading: %v", err)
	}
	var b strings.Builder
	fmt.Fprintln(&b, n, due)
	for i := range 60 {
		story, err := q.Activity(t.Context(), fmt.Sprintf("op-%02d", i))
		if err != nil {
			t.Fatalf("Activity: %v", err)
		}
		fmt.Fprintln(&b, story)
	}
	for _, op := range list {
		fmt.Fprintf(&b, "%+v\n", op)
	}
	return b.String()
}

// freeRoot adds the root page to the list of free pages, so the next write would overwrite it. A meta page contains the
// number of the root page at byte 32, that of the list's own page at byte 48 and that of its transaction at byte 64.
func freeRoot(sound []byte, page int) []byte {
	meta := sound[:page]
	if binary.NativeEndian.Uint64(sound[page+64:]) > binary.NativeEndian.Uint64(meta[64:]) {
		meta = sound[page:]
	}
	damaged := bytes.Clone(sound)
	list := int(binary.NativeEndian.Uint64(meta[48:])) * page
	copy(damaged[list+16:], meta[32:40])
	return damaged
}

// TestDamageIsReportedNotFatal damages the file in many ways. The process must survive, and either nothing is lost or
// the file is moved aside.
func TestDamageIsReportedNotFatal(t *testing.T) {
	t.Parallel()
	sound := lived(t)
	page := os.Getpagesize()
	soundPath := filepath.Join(t.TempDir(), "queue.bolt")
	if err := os.WriteFile(soundPath, sound, 0o600); err != nil {
		t.Fatal(err)
	}
	want := contents(t, open(t, bolt.Options{Path: soundPath}))

	type damage struct {
		name  string
		bytes []byte
	}
	var cases []damage
	random := rand.New(rand.NewPCG(4, 7))
	garbage := make([]byte, page)
	for i := range garbage {
		garbage[i] = byte(random.Uint32())
	}
	for n := range len(sound) / page {
		if bytes.Count(sound[n*page:(n+1)*page], []byte{0}) == page {
			continue // never written
		}
		damaged := bytes.Clone(sound)
		at := damaged[n*page : (n+1)*page]
		what := "bit"
		switch {
		case n%2 == 0:
			at[random.IntN(page)] ^= 1 << random.IntN(8)
		case n%8 == 1:
			what = "zero"
			clear(at)
		case n%8 == 3:
			what = "noise"
			copy(at, garbage)
		default:
			what = "header" // the flags, the count, or the number of overflow pages
			at[8+random.IntN(8)] ^= 1 << random.IntN(8)
		}
		cases = append(cases, damage{fmt.Sprintf("page %d %s", n, what), damaged})
	}
	for _, n := range []int{1, 100, page, 2*page - 1, 2 * page, 3 * page, len(sound) / 2} {
		cases = append(cases, damage{fmt.Sprintf("cut to %d bytes", n), sound[:n]})
	}
	for n := range 2 {
		meta := bytes.Clone(sound)
		meta[n*page+16+random.IntN(64)] ^= 1 << random.IntN(8)
		cases = append(cases, damage{fmt.Sprintf("meta page %d bit", n), meta})
	}
	cases = append(cases, damage{"a page in use is listed as free", freeRoot(sound, page)})
	cases = append(cases, damage{"a text file", []byte("Dear Sir or Madam,\n")},
		damage{"a long text file", bytes.Repeat([]byte("Dear Sir or Madam,\n"), 10_000)})

	moved := 0
	for _, c := range cases {
		path := filepath.Join(t.TempDir(), "queue.bolt")
		if err := os.WriteFile(path, c.bytes, 0o600); err != nil {
			t.Fatal(err)
		}
		q := bolt.WithoutSync(open(t, bolt.Options{Path: path, Check: bolt.Check}))
		if q.Quarantined() == "" {
			if got := contents(t, q); got != want || q.Rebuilt() {
				t.Errorf("%s: Open accepted the file, but its content differs", c.name)
			}
			// The queue must also be able to write to every free page of the file. The cleanup of open checks the file.
			add(t, q, webhook("op-more", nine))
			if err := q.Erase(t.Context(), "op-more"); err != nil {
				t.Errorf("%s: Erase: %v", c.name, err)
			}
			continue
		}
		moved++
		if kept, err := os.ReadFile(q.Quarantined()); err != nil || !bytes.Equal(kept, c.bytes) {
			t.Errorf("%s: the file that was moved aside has %d bytes (%v), want it unchanged", c.name, len(kept), err)
		}
		if n, err := q.Counts(t.Context()); n != (store.OperationCounts{}) || err != nil || !q.Rebuilt() {
			t.Errorf("%s: got %+v, %v, rebuilt %v; want an empty queue", c.name, n, err, q.Rebuilt())
		}
		add(t, q, webhook("op-again", nine))
	}
	t.Logf("%d cases, %d moved aside", len(cases), moved)
	if moved < len(cases)/3 || moved == len(cases) {
		t.Errorf("%d of %d cases were moved aside; the test needs cases with and without damage", moved, len(cases))
	}
}

func TestMovedFileIsReported(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "queue.bolt")
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	for i := range 2 { // both within the same second
		if err := os.WriteFile(path, fmt.Appendf(nil, "not a queue %d", i), 0o600); err != nil {
			t.Fatal(err)
		}
		q := open(t, bolt.Options{Path: path, Check: bolt.Check, Logger: logger})
		name := strings.TrimPrefix(q.Quarantined(), path+".damaged-")
		stamp, _, _ := strings.Cut(name, "-")
		if at, err := time.Parse("20060102T150405Z", stamp); err != nil || time.Since(at).Abs() > time.Minute {
			t.Errorf("moved aside as %q, want the current time in UTC", q.Quarantined())
		}
		if !strings.Contains(log.String(), q.Quarantined()) || !strings.Contains(log.String(), "level=ERROR") {
			t.Errorf("log: got %q, want an error that names the file", log.String())
		}
		if n := strings.Count(log.String(), bolt.ErrDamaged.Error()); n != i+1 {
			t.Errorf("log: %q occurs %d times, want once per start: %s", bolt.ErrDamaged, n, log.String())
		}
		if err := q.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if kept, _ := filepath.Glob(path + ".damaged-*"); len(kept) != 2 {
		t.Errorf("damaged files: %q, want both", kept)
	}
}

// TestHungCheckTimesOut checks that a child that hangs is killed, and that the file then counts as damaged. If the
// caller gives up first, that proves nothing about the file.
func TestHungCheckTimesOut(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "queue.bolt")
	if err := syscall.Mkfifo(path, 0o600); err != nil { // opening the pipe waits for a writer, and there is none
		t.Skipf("cannot create a named pipe: %v", err)
	}
	for bound := 2 * time.Second; ; bound *= 2 {
		err := bolt.CheckWithin(t.Context(), path, bound)
		if bound < time.Minute && strings.Contains(err.Error(), "did not respond") {
			continue // the machine is too busy to start a child within this limit
		}
		if !errors.Is(err, bolt.ErrDamaged) || !strings.Contains(err.Error(), bound.String()) {
			t.Errorf("a check that hangs: got %v, want ErrDamaged and the time limit", err)
		}
		break
	}
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := bolt.Check(short, path); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, bolt.ErrDamaged) {
		t.Errorf("a caller whose context ends: got %v, want DeadlineExceeded", err)
	}
}

// TestUnreadableFileIsNotDamaged checks that a file that cannot be read is not reported as damaged.
func TestUnreadableFileIsNotDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none")
	err := bolt.Check(t.Context(), path)
	if err == nil || errors.Is(err, bolt.ErrDamaged) || !strings.Contains(err.Error(), "could not be checked") ||
		strings.Count(err.Error(), "queue: ") != 1 {
		t.Errorf("a missing file: got %v, want one error that it could not be checked", err)
	}
}

// TestForeignFileIsPermissionError checks that the caller can recognize a file of another user, to advise what to do.
func TestForeignFileIsPermissionError(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root can open every file")
	}
	path := filepath.Join(t.TempDir(), "queue.bolt")
	if err := os.WriteFile(path, lived(t), 0); err != nil {
		t.Fatal(err)
	}
	err := bolt.Check(t.Context(), path)
	if !errors.Is(err, fs.ErrPermission) || errors.Is(err, bolt.ErrDamaged) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v, want that %s cannot be opened", err, path)
	}
}

func TestSoundFilePassesCheck(t *testing.T) {
	path := filepath.Join(t.TempDir(), "queue.bolt")
	if err := os.WriteFile(path, lived(t), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := bolt.Check(t.Context(), path); err != nil {
		t.Errorf("got %v, want nil", err)
	}
}
