package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"holdfast/store/sqlite/sqlitetest"
)

const harbour = "../testdata/clinic/harbour.json"

// clinicDir returns a data directory that contains the clinic of testdata, without a server.
func clinicDir(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	sqlitetest.Empty(t, filepath.Join(path, databaseFile)) // saves the time of the migrations
	must(t, "import", "--data", path, harbour)
	return path
}

func decoded(t *testing.T, text string) (v map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// TestImportAndExportRoundTrip: an exported file imports to the same clinic, on another server and
// repeatedly.
func TestImportAndExportRoundTrip(t *testing.T) {
	t.Parallel()
	for _, file := range []string{harbour, "../testdata/clinic/zones.json", "demo/clinic.json"} {
		t.Run(filepath.Base(file), func(t *testing.T) {
			here, there := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
			contains(t, "import", must(t, "import", "--data", here, file), "imported", "specialists",
				"appointment types")
			first := must(t, "export", "--data", here)

			if got := command(t, nil, first, "import", "--data", there, "-"); got.code != 0 {
				t.Fatalf("import of an export: %s", got.stderr)
			}
			if got := must(t, "export", "--data", there); !reflect.DeepEqual(decoded(t, got), decoded(t, first)) {
				t.Errorf("elsewhere: got %s, want %s", got, first)
			}
			must(t, "import", "--data", here, file)
			if got := must(t, "export", "--data", here); got != first {
				t.Errorf("second import: got %s, want %s", got, first)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want := decoded(t, string(text))
			for _, list := range []string{"specialists", "appointmentTypes"} {
				if got, want := len(decoded(t, first)[list].([]any)), len(want[list].([]any)); got != want {
					t.Errorf("%s: got %d, want %d", list, got, want)
				}
			}
		})
	}
}

// TestImportRefusesWholeFile: a file with a mistake is not imported at all. The errors contain the position of each
// mistake.
func TestImportRefusesWholeFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, file string
		says       []string
	}{
		{"no JSON", "{\n\"clinic\": nope}", []string{"line 2"}},
		{"half of it", "{\n\"specialists\": [\n", []string{"unexpected end of JSON input"}},
		{"a field that nothing reads", "{\n\n\"colour\":\"red\"}", []string{"line 3", "colour"}},
		{"in the middle", "{\n\"clinic\": {\"name\": \"x\",\n\"colour\": 1},\n\n\"specialists\": []}\n\n",
			[]string{"line 3: clinic.colour is unknown. The known fields are: address, email, locale, name, phone, settings, timezone, website"}},
		{"deep inside", "{\"specialists\": [\n{\"id\": \"a\"},\n{\"id\": \"b\", \"weeklyHours\": [\n{\"day\": 1}]}\n]}",
			[]string{"line 4: specialists[1].weeklyHours[0].day is unknown. The known fields are: end, place, start, weekday"}},
		{"a value of the wrong kind", "{\"appointmentTypes\": [\n{\"id\": \"a\",\n\"durationMinutes\": \"40\"}\n]}\n",
			[]string{"line 3: appointmentTypes[0].durationMinutes must be a whole number"}},
		{"a list that is none", "{\n\"specialists\": {}\n}\n", []string{"line 2: specialists must be a list"}},
		{"no object at all", "[]", []string{"line 1: the file must be an object"}},
		{"a time that is none", "{\"specialists\": [{\"weeklyHours\": [\n{\"start\": \"9 o'clock\"}\n]}]}",
			[]string{"line 2: specialists[0].weeklyHours[0].start \"9 o'clock\" is not a time"}},
		{"deep in what decodes itself",
			"{\"clinic\": {\"name\": \"x\", \"settings\": {\"webhooks\": [\n{\"url\": \"https://a.example\", \"evnts\": []}]}}}",
			[]string{"line 2: clinic.settings.webhooks[0].evnts is unknown"}},
		{"two values", "{}\n{}", []string{"text after the end"}},
		{"several mistakes", `{"specialists":[{"id":"a b","name":""}]}`,
			[]string{"specialists[0].id", "specialists[0].name"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := clinicDir(t)
			before := must(t, "export", "--data", dir)
			got := command(t, nil, c.file, "import", "--data", dir, "-")
			if got.code != 1 {
				t.Errorf("exit code: got %d, want 1", got.code)
			}
			contains(t, "message", got.stderr, c.says...)
			if after := must(t, "export", "--data", dir); after != before {
				t.Errorf("a part was imported: %s", after)
			}
		})
	}
	got := command(t, nil, "", "import", "--data", t.TempDir(), "nowhere.json")
	if got.code != 1 || !strings.Contains(got.stderr, "nowhere.json") {
		t.Errorf("a missing file: got %d, %q", got.code, got.stderr)
	}
}

// TestAPIKeyLifecycle: a key is created, shown once, listed without its secret, and revoked.
func TestAPIKeyLifecycle(t *testing.T) {
	t.Parallel()
	dir := clinicDir(t)
	made := command(t, nil, "", "apikey", "create", "--data", dir, "--name", "phone agent", "--scope", "agent")
	secret := strings.TrimSpace(made.stdout)
	if made.code != 0 || !strings.HasPrefix(secret, "hfk_") || strings.ContainsAny(secret, " \n") {
		t.Fatalf("create: got %+v, want only the key on standard output", made)
	}
	list := must(t, "apikey", "list", "--data", dir)
	contains(t, "list", list, "phone agent", "agent", secret[:10], "never")
	if strings.Contains(list, secret) {
		t.Error("the list shows the secret")
	}
	id := strings.Fields(strings.Split(list, "\n")[1])[0]
	contains(t, "revoke", must(t, "apikey", "revoke", "--data", dir, id), "revoked")
	must(t, "apikey", "revoke", "--data", dir, id) // again: nothing changes
	if row := strings.Split(must(t, "apikey", "list", "--data", dir),
		"\n")[1]; strings.HasSuffix(strings.TrimSpace(row), "-") {
		t.Errorf("the revoked key is listed as working: %s", row)
	}

	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"apikey", "revoke", "--data", dir, "lost"}, 1, "there is no API key lost. See: holdfast apikey list"},
		{[]string{"apikey", "create", "--data", dir, "--name", "x", "--scope", "god"}, 2, "admin, agent, presence"},
		{[]string{"apikey", "create", "--data", dir, "--scope", "agent"}, 2, "--name"},
	} {
		if got := command(t, nil, "", c.args...); got.code != c.code || !strings.Contains(got.stderr, c.says) {
			t.Errorf("%v: got %d, %q, want %d and %q", c.args, got.code, got.stderr, c.code, c.says)
		}
	}
}

// TestLongDirectoryGetsShortSocket: the path of a socket can have 108 bytes, the path of a directory 4,096.
func TestLongDirectoryGetsShortSocket(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), strings.Repeat("d", 120), strings.Repeat("e", 120))
	must(t, "import", "--data", dir, harbour)
	contains(t, "export", must(t, "export", "--data", dir), "Harbour Clinic")
	if _, err := os.Stat(filepath.Join(dir, socketFile)); !os.IsNotExist(err) {
		t.Errorf("the socket remains: %v", err)
	}
}

// TestBackupAndRestore: the contents of a backup are restored, and the replaced files are kept.
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	dir := clinicDir(t)
	key, err := os.ReadFile(filepath.Join(dir, secretFile))
	if err != nil {
		t.Fatal(err)
	}
	before := must(t, "export", "--data", dir)
	backup := filepath.Join(t.TempDir(), "backup")
	if got := strings.TrimSpace(must(t, "backup", "--data", dir, "--to", backup)); got != backup {
		t.Errorf("backup: got %s, want %s", got, backup)
	}
	for _, name := range []string{".", databaseFile, secretFile} {
		if got := mode(t, filepath.Join(backup, name)); got&0o077 != 0 {
			t.Errorf("mode of %s: got %#o, want access only for its owner", name, got)
		}
	}
	contains(t, "verify", must(t, "verify", backup), "intact")
	contains(t, "verify", must(t, "verify", "--data", dir), "intact")
	if got := command(t, nil, "", "backup", "--data", dir, "--to", backup); got.code != 1 ||
		!strings.Contains(got.stderr, "already exists") {
		t.Errorf("a second backup to the same place: got %+v", got)
	}

	change := `{"specialists":[{"id":"late","name":"Dr Late Comer","timezone":"UTC"}],"appointmentTypes":[]}`
	if got := command(t, nil, change, "import", "--data", dir, "-"); got.code != 0 {
		t.Fatal(got.stderr)
	}
	after := must(t, "export", "--data", dir)
	if after == before {
		t.Fatal("the test changed nothing")
	}
	contains(t, "restore", must(t, "restore", "--data", dir, backup), "restored", "replaced-")
	if got := must(t, "export", "--data", dir); got != before {
		t.Errorf("after the restore: got %s, want %s", got, before)
	}

	// The replaced files are a backup too, so there is a way back.
	replaced, err := filepath.Glob(filepath.Join(dir, backupsDir, "replaced-*"))
	if err != nil || len(replaced) != 1 {
		t.Fatalf("replaced directories: got %v, %v, want one", replaced, err)
	}
	must(t, "restore", "--data", dir, replaced[0])
	if got := must(t, "export", "--data", dir); got != after {
		t.Errorf("after the second restore: got %s, want %s", got, after)
	}

	// Restore to a directory that does not exist yet, as on a new machine.
	fresh := filepath.Join(t.TempDir(), "fresh")
	must(t, "restore", "--data", fresh, backup)
	if got := must(t, "export", "--data", fresh); got != before {
		t.Errorf("on an empty machine: got %s, want %s", got, before)
	}
	if now, _ := os.ReadFile(filepath.Join(fresh, secretFile)); string(now) != string(key) {
		t.Error("on an empty machine: the keys differ from the backup's, so all sent links are invalid")
	}
}

// TestRestoreOfBadBackupChangesNothing: the database and the keys stay as they are.
func TestRestoreOfBadBackupChangesNothing(t *testing.T) {
	t.Parallel()
	dir := clinicDir(t)
	before := must(t, "export", "--data", dir)
	backup := filepath.Join(t.TempDir(), "backup")
	must(t, "backup", "--data", dir, "--to", backup)
	db := filepath.Join(backup, databaseFile)
	text, err := os.ReadFile(db)
	if err != nil {
		t.Fatal(err)
	}
	for i := 4096; i < len(text); i += 7 {
		text[i] ^= 0x5a
	}
	if err := os.WriteFile(db, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := command(t, nil, "", "verify", backup); got.code != 1 {
		t.Errorf("verify of a damaged backup: got %+v", got)
	}
	for _, bad := range []string{backup, filepath.Join(t.TempDir(), "nothing")} {
		if got := command(t, nil, "", "restore", "--data", dir, bad); got.code != 1 {
			t.Errorf("restore of %s: got %+v", bad, got)
		}
	}
	if got := must(t, "export", "--data", dir); got != before {
		t.Errorf("a refused restore changed something: got %s, want %s", got, before)
	}
}
