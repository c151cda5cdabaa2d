package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"holdfast/store"
	"holdfast/store/storetest"
)

func TestFilesAreOwnerOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "with space?and#and%41.db")
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	b := newTestStore(t, Options{Path: path})
	defer mustClose(t, b.Store)
	for _, file := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s: got %v, want 0600", filepath.Base(file), info.Mode().Perm())
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("this is no database\n", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"a file that is no database":       text,
		"a directory that is not there":    filepath.Join(dir, "none", "holdfast.db"),
		"a directory in place of the file": dir,
		"no path":                          "",
	} {
		s, err := Open(t.Context(), Options{Path: path})
		if err == nil {
			s.Close()
			t.Errorf("%s: got no error", name)
		}
		if damaged := errors.Is(err, ErrDamaged); damaged != (path == text) {
			t.Errorf("%s: got %v, damaged %t", name, err, damaged)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := Open(ctx, Options{Path: filepath.Join(dir, "new.db")}); !errors.Is(err, context.Canceled) {
		s.Close()
		t.Errorf("a cancelled context: got %v, want context.Canceled", err)
	}
}

// TestOpenRefusesWeakDurability checks that a connection with settings that could lose acknowledged writes in a power
// cut is refused.
func TestOpenRefusesWeakDurability(t *testing.T) {
	for _, pragma := range []string{"synchronous(NORMAL)", "synchronous(OFF)", "journal_mode(DELETE)", "journal_mode(MEMORY)"} {
		name, _, _ := strings.Cut(pragma, "(")
		weaker := regexp.MustCompile(name+`\(\w+\)`).ReplaceAllString(dsn(filepath.Join(t.TempDir(), "holdfast.db")), pragma)
		c, err := openConn(weaker)
		if err != nil {
			t.Fatal(err)
		}
		if err := durable(t.Context(), c); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: got %v, want ErrUnavailable", pragma, err)
		}
		c.close()
	}
}

func TestVerify(t *testing.T) {
	b := newTestStore(t, Options{})
	defer mustClose(t, b.Store)
	for n := range int64(300) {
		if err := b.insert(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	good := filepath.Join(dir, "good.db")
	if err := b.Backup(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	got, err := Verify(t.Context(), good)
	if want := (Summary{ID: b.ID(), SchemaVersion: SchemaVersion(), Appointments: 300}); err != nil || got != want {
		t.Errorf("a good copy: got %+v, %v; want %+v", got, err, want)
	}
	if left, err := filepath.Glob(good + "-*"); err != nil || len(left) != 0 {
		t.Errorf("verify left %v", left)
	}

	content, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	put := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	damaged := append([]byte(nil), content...)
	for at := len(damaged) / 2; at < len(damaged)/2+8192; at++ {
		damaged[at] ^= 0x55
	}
	empty := filepath.Join(dir, "other.db")
	c, err := openConn(dsn(empty))
	if err == nil {
		err = errors.Join(c.script("CREATE TABLE recipes (name TEXT)"), c.close())
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"a damaged copy":   put("damaged.db", damaged),
		"half a copy":      put("half.db", content[:len(content)/2]),
		"an empty file":    put("empty.db", nil),
		"text":             put("text.db", []byte("hello")),
		"nothing":          filepath.Join(dir, "none.db"),
		"another clinic's": empty,
		"a directory":      dir,
	} {
		if got, err := Verify(t.Context(), path); err == nil {
			t.Errorf("%s: got %+v and no error", name, got)
		}
	}

	restored := mustOpen(t, good, migrations)
	if restored.ID() != b.ID() {
		t.Errorf("the copy's id: got %s, want %s", restored.ID(), b.ID())
	}
	storetest.Verify(t, restored)
}
