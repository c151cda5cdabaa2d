// Package clients_test generates both clients from the API description, installs them into empty projects as a user
// would, and runs each against a real server. The clients are separate modules that no package of the server imports.
package clients_test

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/cli/clitest"
	"holdfast/engine"
	"holdfast/engine/enginetest"
	"holdfast/web"
)

const adminKey = "a-bootstrap-admin-key-for-tests"

// serve starts a server and returns its address.
func serve(t *testing.T) string {
	t.Helper()
	db := enginetest.Database(t)
	e, err := engine.New(t.Context(), engine.Options{Store: db, Holds: enginetest.Holds(t, db), AdminKey: adminKey})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Clinic.Import(t.Context(), "system", enginetest.ClinicFile(map[string]int{"ada": 1})); err != nil {
		t.Fatal(err)
	}
	s, err := web.New(e, web.Options{})
	if err != nil {
		t.Fatal(err)
	}
	listening := httptest.NewServer(s.Handler())
	t.Cleanup(listening.Close)
	enginetest.Run(t, e.Run, s.Run)
	return listening.URL
}

// run runs a program in a folder and returns its output.
func run(t *testing.T, folder string, env []string, program string, arguments ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), program, arguments...)
	c.Dir, c.Env = folder, append(os.Environ(), env...)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(arguments, " "), err, out)
	}
	return string(out)
}

// drives runs a client's example against a server and checks its output.
func drives(t *testing.T, folder, program string, arguments ...string) {
	t.Helper()
	at := "HOLDFAST_URL=" + serve(t)
	out := run(t, folder, []string{at, "HOLDFAST_KEY=" + adminKey}, program, arguments...)
	refused := exec.CommandContext(t.Context(), program, arguments...)
	refused.Dir, refused.Env = folder, append(os.Environ(), at, "HOLDFAST_KEY=unknown")
	if said, err := refused.CombinedOutput(); err == nil || !strings.Contains(string(said), "401 unauthorized: This") {
		t.Errorf("with an unknown key: %v, %s; want the server's reason", err, said)
	}
	for _, want := range []string{"heard hold\n", "booked ", "heard confirm\n", "heard cancel\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("the example printed\n%s\nwant %q in it", out, want)
		}
	}
}

// TestClientsInstallIntoEmptyProjects packs both clients and makes a booking with each.
func TestClientsInstallIntoEmptyProjects(t *testing.T) {
	clitest.Long(t, "generates 60,000 lines and compiles them")
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("SKIPPED: the TypeScript client needs npm")
	}
	packed := t.TempDir()
	run(t, "..", nil, ".ci/clients", packed)
	t.Run("Go", func(t *testing.T) {
		project := t.TempDir()
		run(t, project, nil, "tar", "-xzf", filepath.Join(packed, "holdfast-client-go.tar.gz"))
		drives(t, filepath.Join(project, "holdfast-client-go"), "go", "run", "./example", "checkup")
	})
	t.Run("TypeScript", func(t *testing.T) {
		archives, err := filepath.Glob(filepath.Join(packed, "holdfast-client-*.tgz"))
		if err != nil || len(archives) != 1 {
			t.Fatalf("got the archives %v, %v; want one", archives, err)
		}
		example, err := os.ReadFile("typescript/built/example.js")
		if err != nil {
			t.Fatal(err)
		}
		project := t.TempDir()
		own := strings.Replace(string(example), "./index.js", "holdfast-client", 1)
		if err := os.WriteFile(filepath.Join(project, "example.mjs"), []byte(own), 0o600); err != nil {
			t.Fatal(err)
		}
		run(t, project, nil, "npm", "init", "--yes")
		run(t, project, nil, "npm", "install", "--silent", "--no-audit", "--no-fund", archives[0])
		drives(t, project, "node", "example.mjs", "checkup")
	})
}
