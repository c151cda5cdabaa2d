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

// entry is a file of an archive.
type entry struct {
	name    string
	from    string // a file, or
	content []byte
	mode    int64
}

func (e *entry) read() ([]byte, error) {
	if e.from == "" {
		return e.content, nil
	}
	return os.ReadFile(e.from)
}

// packTar writes an archive in which everything is below one directory and of one time.
func packTar(path, below string, content []entry, at time.Time) error {
	return pack(path, func(w io.Writer) error {
		zipped, err := gzip.NewWriterLevel(w, gzip.BestCompression) // without a name and a time in its header
		if err != nil {
			return err
		}
		t := tar.NewWriter(zipped)
		for _, e := range content {
			b, err := e.read()
			if err != nil {
				return err
			}
			if err := t.WriteHeader(&tar.Header{Name: below + "/" + e.name, Mode: e.mode, Size: int64(len(b)), ModTime: at, Format: tar.FormatUSTAR}); err != nil {
				return err
			}
			if _, err := t.Write(b); err != nil {
				return err
			}
		}
		return errors.Join(t.Close(), zipped.Close())
	})
}

// packZip is packTar for Windows.
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
