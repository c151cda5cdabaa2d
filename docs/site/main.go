// Site renders the manual and the API reference, which the server embeds, from the Markdown pages in docs and from
// docs/api/openapi.yaml. This command runs it:
//
//	go generate ./docs
//
// Site writes docs/built: one compressed HTML page per Markdown page (manual.go), the pages of the API reference
// (reference.go), the API description as JSON, a style sheet and a script. If there is a broken link, site returns an
// error and writes nothing. site does not rewrite a file whose content is unchanged, so a different version of Go,
// which may compress differently, changes nothing.
package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: site SOURCE TARGET, such as: site . built")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

func run(source, target string) error {
	files, err := build(os.DirFS(source))
	if err != nil {
		return err
	}
	return write(target, files)
}

// build returns all files of the site by name, uncompressed. The name of a page is its address below /docs plus .html;
// for /docs itself, it is index.html.
func build(source fs.FS) (map[string][]byte, error) {
	manual, err := readManual(source)
	if err != nil {
		return nil, err
	}
	description, err := fs.ReadFile(source, "api/openapi.yaml")
	if err != nil {
		return nil, err
	}
	api, err := readReference(description)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{"openapi.json": api.json}
	pages := append(manual.pages, api.pages()...)
	for _, p := range pages {
		files[p.file()] = p.html(manual.sections)
	}
	for _, asset := range []string{"manual.css", "manual.js"} {
		if files[asset], err = fs.ReadFile(source, "site/"+asset); err != nil {
			return nil, err
		}
	}
	pictures, err := fs.Glob(source, "pictures/*")
	if err != nil {
		return nil, err
	}
	return files, checkLinks(files, pictures)
}

// packed compresses the content of a file.
func packed(body []byte) []byte {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		panic(err) // the level is a constant of the package
	}
	_, _ = z.Write(body) // writing to a buffer cannot fail
	_ = z.Close()
	return b.Bytes()
}

func unpacked(body []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// write makes a directory contain these files, compressed, and no others.
func write(target string, files map[string][]byte) error {
	wanted := make(map[string]bool)
	for name, body := range files {
		at := filepath.Join(target, filepath.FromSlash(name)+".gz")
		wanted[at] = true
		if old, err := os.ReadFile(at); err == nil {
			if plain, err := unpacked(old); err == nil && bytes.Equal(plain, body) {
				continue
			}
		}
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(at, packed(body), 0o644); err != nil {
			return err
		}
	}
	return filepath.WalkDir(target, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || wanted[at] {
			return err
		}
		return os.Remove(at)
	})
}
