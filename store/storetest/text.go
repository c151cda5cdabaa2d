package storetest

import (
	"fmt"
	"testing"
	"unicode/utf8"

	"holdfast/store"
)

// testText writes strings of the kind that browsers, people and remote servers send. Every backend must store the same
// string: valid UTF-8 stays unchanged, and other bytes are replaced. No string may make a write or a look-up fail.
func testText(t *testing.T, h Harness) {
	s, ctx := h.open(t), t.Context()
	clinic(t, s)
	for i, x := range []struct{ name, text string }{
		{"two bytes", "Zoë Müller"}, {"four bytes", "🦷 \U0010FFFD"}, {"combining", "e\u0301"},
		{"right to left", "שלום"}, {"line breaks", "a\r\nb\tc"}, {"quotes", `'"\%_$1`}, {"replacement", "\uFFFD"},
		{"other control", "a\x01\x1b\x7fb"}, {"NUL", "a\x00b"}, {"Latin-1", "M\xfcller"}, {"cut character", "M\xc3"},
		{"surrogate", "\xed\xa0\x80"}, {"no UTF-8", "\xff\xfe"},
	} {
		t.Run(x.name, func(t *testing.T) {
			want, id := store.Text(x.text), fmt.Sprintf("u%d", i)
			if isText := utf8.ValidString(x.text) && x.name != "NUL"; isText != (want == x.text) ||
				!utf8.ValidString(want) {
				t.Fatalf("%q is stored as %q", x.text, want)
			}
			a := booking("ada", "checkup", 30*i, 30)
			a.Patient.Name, a.Patient.Notes = x.text, x.text
			user := store.User{ID: id, Email: id + "@example.org", Name: x.text, Role: store.RoleOwner, Active: true,
				CreatedAt: monday}
			write(t, s, func(tx store.Tx) error {
				if err := tx.PutUser(ctx, user); err != nil {
					return err
				}
				if err := tx.InsertSignIn(ctx, store.SignIn{ID: id,
					Hash: [32]byte{byte(i)}, UserID: id, CreatedAt: monday, LastSeenAt: monday, ExpiresAt: monday,
					UserAgent: x.text}); err != nil {
					return err
				}
				if err := tx.InsertAppointment(ctx, a); err != nil {
					return err
				}
				return tx.AppendAudit(ctx, store.AuditEntry{ID: id,
					At: monday, Actor: x.text, Action: x.text, Subject: x.text, Reason: x.text})
			})
			if got, err := s.User(ctx, id); err != nil || got.Name != want {
				t.Errorf("user: got %q, %v; want %q", got.Name, err, want)
			}
			if got, err := s.SignIns(ctx, id); err != nil || len(got) != 1 || got[0].UserAgent != want {
				t.Errorf("sign-in: got %+v, %v; want %q", got, err, want)
			}
			if got, err := s.Appointment(ctx, a.ID); err != nil || got.Patient.Name != want ||
				got.Patient.Notes != want {
				t.Errorf("appointment: got %+v, %v; want %q", got.Patient, err, want)
			}
			if got, _, err := s.Audit(ctx, store.AuditFilter{Subjects: []string{x.text}}); err != nil ||
				len(got) == 0 || got[0].Reason != want || got[0].Actor != want {
				t.Errorf("audit: got %+v, %v; want %q", got, err, want)
			}
			_, err := s.User(ctx, x.text)
			wantErr(t, "user by id", err, store.ErrNotFound)
			_, err = s.UserByEmail(ctx, x.text+"@example.org")
			wantErr(t, "user by address", err, store.ErrNotFound)
			_, err = s.UserByIdentity(ctx, "https://id.example.org "+x.text)
			wantErr(t, "user by identity", err, store.ErrNotFound)
			_, err = s.Appointment(ctx, x.text)
			wantErr(t, "appointment by id", err, store.ErrNotFound)
			if _, _, err := s.Appointments(ctx, store.AppointmentFilter{Query: x.text}); err != nil {
				t.Errorf("search: %v", err)
			}
		})
	}
}
