// Join builds the files of web/pages/built, which the server embeds, from those of web/ui and the texts of
// engine/words. This command runs it:
//
//	go generate ./web/pages
//
// It writes the texts of each language as scripts (addWords), trims the templates of scripts (trimTemplates), joins the
// modules that patients and the desk load into a few bundles (join), joins the desk's style sheets (gather), minifies
// scripts and style sheets, and compresses the files that become smaller. If a module cannot be joined or minified, or
// a text is missing in a language, it returns an error and writes nothing. It does not rewrite a file in built if its
// unpacked content is the same. So a version of Go that compresses differently changes no files.
package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"holdfast/engine/words"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: join SOURCE WORDS TARGET, such as: join ../ui ../../engine/words built")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "join:", err)
		os.Exit(1)
	}
}

func run(source, texts, target string) error {
	files, err := build(os.DirFS(source), os.DirFS(texts), words.Registered())
	if err != nil {
		return err
	}
	return write(target, files)
}

// build returns the files that the server serves, by name, before they are compressed. texts is the folder of
// engine/words.
func build(source, texts fs.FS, languages []words.Registration) (map[string][]byte, error) {
	files := make(map[string][]byte)
	err := fs.WalkDir(source, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(source, name)
		files[name] = body
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := addWords(files, texts, languages); err != nil {
		return nil, err
	}
	for name, body := range files {
		if path.Ext(name) == ".js" && !isVendored(name) {
			if files[name], err = trimTemplates(body); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	if err := join(files); err != nil {
		return nil, err
	}
	if err := gather(files); err != nil {
		return nil, err
	}
	for name, body := range files {
		if path.Ext(name) == ".css" && !isVendored(name) {
			if files[name], err = minified(name, body); err != nil {
				return nil, err
			}
		}
	}
	return files, nil
}

// packed returns the name and the content of a file in built. The file is compressed, and its name ends in .gz, if that
// makes it smaller. The server fills in documents, so they are not compressed.
func packed(name string, body []byte) (string, []byte) {
	if path.Ext(name) == ".html" {
		return name, body
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		panic(err) // cannot happen, because the level is valid
	}
	_, _ = z.Write(body) // a write into memory does not fail
	_ = z.Close()
	if b.Len() >= len(body) {
		return name, body
	}
	return name + ".gz", b.Bytes()
}

// unpacked returns the uncompressed content of a file in built.
func unpacked(file string, body []byte) ([]byte, error) {
	if path.Ext(file) != ".gz" {
		return body, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// write makes a directory contain exactly these files.
func write(target string, files map[string][]byte) error {
	wanted := make(map[string]bool)
	for name, body := range files {
		file, content := packed(name, body)
		at := filepath.Join(target, filepath.FromSlash(file))
		wanted[at] = true
		if old, err := os.ReadFile(at); err == nil {
			if plain, err := unpacked(file, old); err == nil && bytes.Equal(plain, body) {
				continue
			}
		}
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(at, content, 0o644); err != nil {
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

// isVendored reports whether a file is third-party code. Those files are already minified and are served unchanged.
func isVendored(name string) bool { return strings.HasPrefix(name, "vendor/") }
