package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/store/backup"
)

// TestSealedCopyIsRestoredWithRecoveryKeyOnly: the machine is lost, and only the backup destination and the printed
// recovery key are left.
func TestSealedCopyIsRestoredWithRecoveryKeyOnly(t *testing.T) {
	t.Parallel()
	dir, second := clinicDir(t), t.TempDir()
	paper := must(t, "backup-key", "--data", dir)
	if again := command(t, nil, "", "backup-key", "--data", dir); again.code == 0 ||
		!strings.Contains(again.stderr, "--replace") {
		t.Errorf("a second key: exit code %d, %s", again.code, again.stderr)
	}
	exported := must(t, "export", "--data", dir)
	h, _ := backingUp(t, dir, "--backup-keep", "1,0,0", "--backup-to", second)
	h.backups.Daily().Run(t.Context(), time.Now())
	if err := h.close(); err != nil {
		t.Fatal(err)
	}
	copies, err := filepath.Glob(filepath.Join(second, "auto-*"))
	if err != nil || len(copies) != 1 {
		t.Fatalf("the backup destination contains %v, %v; want one sealed copy", copies, err)
	}
	files, err := os.ReadDir(copies[0])
	if err != nil || len(files) != 2 {
		t.Errorf("the copy contains %v, %v; want the database and the keys", files, err)
	}
	for _, f := range files {
		sealed, err := os.ReadFile(filepath.Join(copies[0], f.Name()))
		if err != nil || !bytes.HasPrefix(sealed, []byte("age-encryption.org/")) ||
			bytes.Contains(sealed, []byte("SQLite format 3")) || bytes.Contains(sealed, []byte("Harbour")) {
			t.Errorf("other users can read %s (%v)", f.Name(), err)
		}
	}
	contains(t, "the list", must(t, "restore", "--data", dir, "--list", second), copies[0])

	keyFile := filepath.Join(t.TempDir(), "paper.txt")
	if err := os.WriteFile(keyFile, []byte(paper), 0o600); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(paper), "\n")
	groups := strings.TrimPrefix(lines[len(lines)-2], "#   ")
	for name, c := range map[string]struct{ stdin, key string }{
		"the file that was printed":    {"", keyFile},
		"the key typed in groups":      {strings.ToLower(groups) + "\n\n", "-"},
		"the key typed in two lines":   {groups[:40] + "\n  " + groups[40:] + "\n\n", "-"},
		"the printed text piped in":    {paper, "-"},
		"the printed text, other ends": {strings.ReplaceAll(paper, "\n", "\r\n"), "-"},
	} {
		fresh := filepath.Join(t.TempDir(), "data")
		if got := command(t, nil, c.stdin, "restore", "--data", fresh, "--key", c.key, copies[0]); got.code != 0 {
			t.Errorf("%s: exit code %d, %s", name, got.code, got.stderr)
			continue
		}
		if got := must(t, "export", "--data", fresh); got != exported {
			t.Errorf("%s: restored is\n%s\nwant\n%s", name, got, exported)
		}
		pub, err := os.ReadFile(filepath.Join(dir, backup.RecipientFile))
		if there, _ := os.ReadFile(filepath.Join(fresh, backup.RecipientFile)); err != nil || !bytes.Equal(there, pub) {
			t.Errorf("%s: the next copies are sealed for %q, want %q", name, there, pub)
		}
		if left, err := filepath.Glob(filepath.Join(fresh, ".unsealed-*")); err != nil || len(left) > 0 {
			t.Errorf("%s: %v is not encrypted", name, left)
		}
	}
}

// TestRestoreRefusesSealedCopyWithoutKey: restore refuses a sealed copy without its key, and a damaged copy. It leaves
// no unencrypted file.
func TestRestoreRefusesSealedCopyWithoutKey(t *testing.T) {
	t.Parallel()
	dir, place := clinicDir(t), t.TempDir()
	key, other := newKey(t), newKey(t)
	plain := filepath.Join(t.TempDir(), "backup")
	must(t, "backup", "--data", dir, "--to", plain)
	if err := key.Store(dir); err != nil {
		t.Fatal(err)
	}
	h, _ := backingUp(t, dir, "--backup-to", place)
	h.backups.Daily().Run(t.Context(), time.Now())
	if err := h.close(); err != nil {
		t.Fatal(err)
	}
	copies, err := filepath.Glob(filepath.Join(place, "auto-*"))
	if err != nil || len(copies) != 1 {
		t.Fatalf("the backup destination contains %v, %v; want one sealed copy", copies, err)
	}
	whole := copies[0]
	sealed, err := os.ReadFile(filepath.Join(whole, databaseFile+".age"))
	if err != nil {
		t.Fatal(err)
	}
	// like creates a copy with a different sealed database, and returns its path.
	like := func(name string, database []byte) string {
		dir := filepath.Join(place, name)
		if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, databaseFile+".age"), database, 0o600); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	damaged := bytes.Clone(sealed)
	damaged[len(damaged)/2] ^= 1
	keyless := like("keyless", sealed)
	if err := os.Remove(filepath.Join(keyless, secretFile+".age")); err != nil {
		t.Fatal(err)
	}
	text := key.String()
	for name, c := range map[string]struct{ path, key, says string }{
		"another key": {whole, other.String(), "with a different key. Use the key that backup-key printed"},
		"a letter is wrong": {whole, strings.Replace(text,
			text[20:21], string("QP"[strings.IndexByte("PQ", text[20])&1]), 1), "with the printed key"},
		"no key at all":            {whole, "hello", "with the printed key"},
		"a byte is wrong":          {like("damaged", damaged), text, "incomplete"},
		"its end is missing":       {like("cut", sealed[:len(sealed)-100]), text, "incomplete"},
		"a part is missing":        {like("short", sealed[:len(sealed)-64<<10]), text, "incomplete"},
		"it is something else":     {like("else", []byte("hello")), text, "incomplete"},
		"it is empty":              {like("empty", nil), text, "incomplete"},
		"its keys are missing":     {keyless, text, "incomplete"},
		"there is nothing":         {filepath.Join(place, "nothing"), text, "does not exist"},
		"not sealed, and a key is": {plain, text, "not encrypted"},
	} {
		fresh := filepath.Join(t.TempDir(), "data")
		got := command(t, nil, c.key+"\n\n", "restore", "--data", fresh, "--key", "-", c.path)
		if got.code != 1 || !strings.Contains(got.stderr, c.says) {
			t.Errorf("%s: exit code %d, %q; want 1 and %q", name, got.code, got.stderr, c.says)
		}
		left, err := filepath.Glob(filepath.Join(fresh, "*"))
		hidden, _ := filepath.Glob(filepath.Join(fresh, ".*"))
		if err != nil || len(left)+len(hidden) > 0 {
			t.Errorf("%s: %v and %v remain", name, left, hidden)
		}
	}
	if got := command(t, nil, "", "restore", "--data", filepath.Join(t.TempDir(), "data"), whole); got.code != 1 ||
		!strings.Contains(got.stderr, "--key") {
		t.Errorf("without a key: exit code %d, %q", got.code, got.stderr)
	}
}

func newKey(t testing.TB) backup.Key {
	t.Helper()
	key, err := backup.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}
