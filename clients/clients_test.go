// Package clients_test has both client kits drive a real server. The kits are modules of their own, which nothing of the server imports.
package clients_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/enginetest"
	"holdfast/web"
)

const adminKey = "a-bootstrap-admin-key-for-tests"

// serve begins a server and returns its address.
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

// drives runs a kit's example against a server, and holds it to what it should hear.
func drives(t *testing.T, folder, program string, arguments ...string) {
	t.Helper()
	run := exec.CommandContext(t.Context(), program, arguments...)
	run.Dir = folder
	run.Env = append(os.Environ(), "HOLDFAST_URL="+serve(t), "HOLDFAST_KEY="+adminKey)
	said, err := run.CombinedOutput()
	for _, want := range []string{"heard hold\n", "booked ", "heard confirm\n", "heard cancel\n"} {
		if err != nil || !strings.Contains(string(said), want) {
			t.Fatalf("%v; it should say %q and says\n%s", err, want, said)
		}
	}
}

func TestTheGoClientHoldsBooksAndCancels(t *testing.T) {
	t.Parallel()
	if said, err := exec.CommandContext(t.Context(), "go", "-C", "go", "mod", "download").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: the modules of the Go client cannot be fetched: %s", said)
	}
	drives(t, "go", "go", "run", "./example", "checkup")
}

func TestTheTypeScriptClientHoldsBooksAndCancels(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("typescript/node_modules/.bin/tsc"); err != nil {
		t.Skip("SKIPPED: the TypeScript client needs Node and its packages: npm ci in clients/typescript, which make clients does")
	}
	check := exec.CommandContext(t.Context(), "node_modules/.bin/tsc", "-p", ".")
	check.Dir = "typescript"
	if said, err := check.CombinedOutput(); err != nil {
		t.Fatalf("its types do not fit: %s", said)
	}
	drives(t, "typescript", "node", "built/example.js", "checkup")
}

// generated are what make clients makes, with what it makes them of.
var generated = []string{"../docs/api/openapi.yaml", "go/client.go", "typescript/api.d.ts"}

// TestTheClientsAreMadeOfTheDescription: neither has changed without the other.
func TestTheClientsAreMadeOfTheDescription(t *testing.T) {
	t.Parallel()
	var sums strings.Builder
	for _, file := range generated {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(body)
		sums.WriteString(hex.EncodeToString(sum[:]) + "  " + file + "\n")
	}
	noted, err := os.ReadFile("SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	if string(noted) != sums.String() {
		t.Errorf("the clients are not those of the description: run make clients, and commit what it makes\ngot\n%swant\n%s", noted, sums.String())
	}
}
