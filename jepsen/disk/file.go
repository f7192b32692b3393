//go:build linux

package disk

import (
	"context"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"golang.org/x/sys/unix"
)

// file is an open file of a client.
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

// errHandle answers an open if go-fuse returns a handle of an unexpected type.
const errHandle = syscall.ENOTSUP

// file wraps go-fuse's handle of a file.
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

// Release closes the file after its last client has closed it.
func (f *file) Release(context.Context) syscall.Errno { return fs.ToErrno(f.p.released(f)) }

// Flush returns ENOSYS, so that the kernel sends no more flushes and close(2) does
// not wait for an answer. When a process starts another one, the kernel closes files
// at a moment when the Go runtime cannot answer.
func (*file) Flush(context.Context) syscall.Errno { return syscall.ENOSYS }

// PassthroughFd reports no descriptor, so the kernel does not bypass FUSE and write to the file below.
func (*file) PassthroughFd() (int, bool) { return 0, false }

// Write stores the data unless a fault fails the write. Of a torn write, it stores and syncs a prefix.
func (f *file) Write(ctx context.Context, data []byte, off int64) (uint32, syscall.Errno) {
	faulty := f.p.faulty
	faulty.writes.Add(1)
	v := faulty.write(off, len(data))
	if !v.fails {
		n, errno := f.LoopbackFile.Write(ctx, data, off)
		return n, fs.ToErrno(faulty.count(failure(errno)))
	}
	if v.stored > 0 {
		// If these calls fail, the write is torn at another place.
		_, _ = f.LoopbackFile.Write(ctx, data[:v.stored], off)
		_ = f.LoopbackFile.Fsync(ctx, 0)
	}
	if v.onTorn != nil {
		v.onTorn()
	}
	return 0, fs.ToErrno(faulty.count(syscall.EIO))
}

// Fsync syncs the file as fsync or fdatasync does, subject to the faults.
func (f *file) Fsync(ctx context.Context, flags uint32) syscall.Errno {
	return fs.ToErrno(f.p.faulty.sync(f.p.gone, func() error {
		fd, ok := f.LoopbackFile.PassthroughFd()
		if ok && flags&1 != 0 { // FUSE_FSYNC_FDATASYNC
			return unix.Fdatasync(fd)
		}
		return failure(f.LoopbackFile.Fsync(ctx, flags))
	}))
}

// Allocate performs fallocate, unless the disk has failed.
func (f *file) Allocate(ctx context.Context, off, size uint64, mode uint32) syscall.Errno {
	if f.p.faulty.has() {
		return syscall.EIO
	}
	return f.LoopbackFile.Allocate(ctx, off, size, mode)
}

// handle is go-fuse's handle of an open directory.
type handle interface {
	fs.FileReaddirenter
	fs.FileSeekdirer
	fs.FileFsyncdirer
	fs.FileReleasedirer
}

// directory is an open directory of a client.
type directory struct {
	handle
	p *passthrough
}

var (
	_ fs.FileFsyncdirer   = (*directory)(nil)
	_ fs.FileReleasedirer = (*directory)(nil)
)

// directory wraps go-fuse's handle of a directory.
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

// Releasedir closes the directory after its last client has closed it.
func (d *directory) Releasedir(context.Context, uint32) { _ = d.p.released(d) }

// Fsyncdir syncs the directory, subject to the faults.
func (d *directory) Fsyncdir(ctx context.Context, flags uint32) syscall.Errno {
	return fs.ToErrno(d.p.faulty.sync(d.p.gone, func() error { return failure(d.handle.Fsyncdir(ctx, flags)) }))
}

// failure converts an error number to an error; 0 becomes nil.
func failure(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}
