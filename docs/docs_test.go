package docs

import (
	"bytes"
	"os"
	"testing"
)

func TestCompressedOpenAPIIsCurrent(t *testing.T) {
	want, err := os.ReadFile("api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(OpenAPI(), want) {
		t.Error("api/openapi.yaml.gz does not match api/openapi.yaml: run make pages, and commit it")
	}
}
