package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"time"
)

// entry is a file of a tar archive, or a directory if its name ends with a slash.
type entry struct {
	name    string
	mode    int64
	owner   int // ID of the user and the group
	content []byte
}

// contents holds the files that the image is made of.
type contents struct {
	program, certificates []byte
	licenses              []byte // license texts of the modules in the program
}

// files returns what the image holds. They belong to root, so that the process cannot change them, except for the data.
func files(c contents) []entry {
	return []entry{
		{name: "etc/", mode: 0o755},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, content: c.certificates},
		{name: "licenses.txt", mode: 0o644, content: c.licenses},
		{name: "snowraft", mode: 0o755, content: c.program},
		{name: "var/", mode: 0o755},
		{name: "var/lib/", mode: 0o755},
		// The user owns the directory, so that the user owns a new volume too.
		{name: "var/lib/snowraft/", mode: 0o700, owner: user},
	}
}

// archived returns a tar archive of entries. The archive depends only on the arguments.
func archived(entries []entry, at time.Time) ([]byte, error) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, e := range entries {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: e.name, Mode: e.mode, Uid: e.owner, Gid: e.owner,
			Size: int64(len(e.content)), ModTime: at, Format: tar.FormatUSTAR,
		}
		if e.name[len(e.name)-1] == '/' {
			header.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return archive.Bytes(), nil
}

// compressed returns b compressed, without a timestamp.
func compressed(b []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(b)
	if err := errors.Join(err, w.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
