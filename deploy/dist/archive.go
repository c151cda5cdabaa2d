package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"time"
)

// entry is a file in an archive. Its content is that of the file from, or content if from is empty.
type entry struct {
	name    string
	from    string // path of a file; empty means content
	content []byte
	mode    int64
}

func (e *entry) read() ([]byte, error) {
	if e.from == "" {
		return e.content, nil
	}
	return os.ReadFile(e.from)
}

// packTar writes a compressed tar archive with all files in one directory and with the same time.
func packTar(path, below string, content []entry, at time.Time) error {
	return pack(path, func(w io.Writer) error {
		zipped, err := gzip.NewWriterLevel(w, gzip.BestCompression) // its header has no name and no time
		if err != nil {
			return err
		}
		t := tar.NewWriter(zipped)
		for _, e := range content {
			b, err := e.read()
			if err != nil {
				return err
			}
			if err := t.WriteHeader(&tar.Header{Name: below + "/" + e.name, Mode: e.mode, Size: int64(len(b)),
				ModTime: at, Format: tar.FormatUSTAR}); err != nil {
				return err
			}
			if _, err := t.Write(b); err != nil {
				return err
			}
		}
		return errors.Join(t.Close(), zipped.Close())
	})
}

// packZip is like packTar, but writes a zip archive, for Windows.
func packZip(path, below string, content []entry, at time.Time) error {
	return pack(path, func(w io.Writer) error {
		z := zip.NewWriter(w)
		for _, e := range content {
			b, err := e.read()
			if err != nil {
				return err
			}
			h := &zip.FileHeader{Name: below + "/" + e.name, Method: zip.Deflate, Modified: at}
			h.SetMode(os.FileMode(e.mode))
			f, err := z.CreateHeader(h)
			if err != nil {
				return err
			}
			if _, err := f.Write(b); err != nil {
				return err
			}
		}
		return z.Close()
	})
}

func pack(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
