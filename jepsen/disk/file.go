//go:build linux

package disk

import (
	"context"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"golang.org/x/sys/unix"
)

// file is a file that a client has opened.
type file struct {
	*fs.LoopbackFile
	p *passthrough
}

var (
	_ fs.FileWriter   = (*file)(nil)
	_ fs.FileFsyncer  = (*file)(nil)
	_ fs.FileFlusher  = (*file)(nil)
	_ fs.FileReleaser = (*file)(nil)
)

// errHandle is for a handle of go-fuse's that is not of the kind that it was.
const errHandle = syscall.ENOTSUP

// file makes go-fuse's handle one of this kind.
func (p *passthrough) file(h fs.FileHandle) (fs.FileHandle, uint32, syscall.Errno) {
	loopback, ok := h.(*fs.LoopbackFile)
	if !ok {
		return nil, 0, errHandle
	}
	f := &file{LoopbackFile: loopback, p: p}
	p.opened(f)
	return f, 0, 0
}

// Close closes the file below.
func (f *file) Close() error { return failure(f.LoopbackFile.Release(context.Background())) }

// Release is called when no client has the file open anymore.
func (f *file) Release(context.Context) syscall.Errno { return fs.ToErrno(f.p.released(f)) }

// Flush would be called for each close(2). It says that there is no such call, so
// that closing a file waits for nothing: when a process starts another one, its
// files are closed where Go's runtime cannot answer.
func (*file) Flush(context.Context) syscall.Errno { return syscall.ENOSYS }

// PassthroughFd keeps the kernel from writing to the file below by itself.
func (*file) PassthroughFd() (int, bool) { return 0, false }

// Write stores all of the data, a part or nothing.
func (f *file) Write(ctx context.Context, data []byte, off int64) (uint32, syscall.Errno) {
	faulty := f.p.faulty
	faulty.writes.Add(1)
	v := faulty.write(off, len(data))
	if !v.fails {
		n, errno := f.LoopbackFile.Write(ctx, data, off)
		return n, fs.ToErrno(faulty.count(failure(errno)))
	}
	if v.stored > 0 {
		// If this fails nothing is stored, which is a torn write too.
		_, _ = f.LoopbackFile.Write(ctx, data[:v.stored], off)
		_ = f.LoopbackFile.Fsync(ctx, 0)
	}
	if v.onTorn != nil {
		v.onTorn()
	}
	return 0, fs.ToErrno(faulty.count(syscall.EIO))
}

// Fsync is fsync and fdatasync.
func (f *file) Fsync(ctx context.Context, flags uint32) syscall.Errno {
	return fs.ToErrno(f.p.faulty.sync(f.p.gone, func() error {
		fd, ok := f.LoopbackFile.PassthroughFd()
		if ok && flags&1 != 0 { // FUSE_FSYNC_FDATASYNC
			return unix.Fdatasync(fd)
		}
		return failure(f.LoopbackFile.Fsync(ctx, flags))
	}))
}

// Allocate is fallocate.
func (f *file) Allocate(ctx context.Context, off, size uint64, mode uint32) syscall.Errno {
	if f.p.faulty.has() {
		return syscall.EIO
	}
	return f.LoopbackFile.Allocate(ctx, off, size, mode)
}

// handle is what go-fuse makes of an open directory.
type handle interface {
	fs.FileReaddirenter
	fs.FileSeekdirer
	fs.FileFsyncdirer
	fs.FileReleasedirer
}

// directory is a directory that a client has opened.
type directory struct {
	handle
	p *passthrough
}

var (
	_ fs.FileFsyncdirer   = (*directory)(nil)
	_ fs.FileReleasedirer = (*directory)(nil)
)

// directory makes go-fuse's handle one of this kind.
func (p *passthrough) directory(h fs.FileHandle) (fs.FileHandle, uint32, syscall.Errno) {
	opened, ok := h.(handle)
	if !ok {
		return nil, 0, errHandle
	}
	d := &directory{handle: opened, p: p}
	p.opened(d)
	return d, 0, 0
}

// Close closes the directory below.
func (d *directory) Close() error {
	d.handle.Releasedir(context.Background(), 0)
	return nil
}

// Releasedir is called when no client has the directory open anymore.
func (d *directory) Releasedir(context.Context, uint32) { _ = d.p.released(d) }

// Fsyncdir is fsync of a directory.
func (d *directory) Fsyncdir(ctx context.Context, flags uint32) syscall.Errno {
	return fs.ToErrno(d.p.faulty.sync(d.p.gone, func() error { return failure(d.handle.Fsyncdir(ctx, flags)) }))
}

// failure is an error number as an error, nil if it is none.
func failure(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}
