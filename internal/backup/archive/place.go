package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/backup"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// Place keeps backups. Its methods may be called by several processes at the same time.
type Place interface {
	// List returns the backups with a cluster ID, or all backups if cluster is empty, in any order. It ignores other files.
	List(ctx context.Context, cluster string) ([]Entry, error)
	// Put keeps what write writes, complete or not at all.
	Put(ctx context.Context, name Name, write func(io.Writer) error) error
	// Open reads a backup. The error wraps [os.ErrNotExist] if the place does not have it. The caller closes the reader.
	Open(ctx context.Context, name Name) (io.ReadCloser, int64, error)
	// Remove deletes a backup. It succeeds if the backup does not exist.
	Remove(ctx context.Context, name Name) error
	// String returns the place as [At] parses it. It contains no secret.
	String() string
}

// Entry is a backup in a list.
type Entry struct {
	Name

	Bytes int64
}

// scheme begins the URL of a place in a bucket.
const scheme = "s3://"

// maxEntries bounds the list of a place.
const maxEntries = 100_000

// Errors of places.
var (
	// ErrNone reports a place without backups.
	ErrNone = errors.New("no backup there")
	// ErrPlace reports a text that names no place. The error does not repeat the text, which may contain a secret.
	ErrPlace = errors.New("expected s3://BUCKET/PREFIX")
)

// errTooMany reports a place with more files than a list holds.
var errTooMany = fmt.Errorf("more than %d files; use a place for backups only", maxEntries)

// IsURL reports whether text is the URL of a place or of a backup, and not a path.
func IsURL(text string) bool { return strings.Contains(text, "://") }

// At returns the place that text names: s3://BUCKET or s3://BUCKET/PREFIX, or the path of a directory. It connects to no server
// and does not read the directory.
func At(text string) (Place, error) {
	if !IsURL(text) {
		return directory(text), nil
	}
	bucket, prefix, err := parseURL(text)
	if err != nil {
		return nil, err
	}
	return newBucket(bucket, strings.Trim(prefix, "/"))
}

// parseURL returns the bucket and the key of a URL. Its errors wrap ErrPlace.
func parseURL(text string) (bucket, key string, err error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || !strings.HasPrefix(text, scheme):
		return "", "", ErrPlace
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "", "", fmt.Errorf("%w without credentials and parameters; set them in the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL)", ErrPlace)
	case u.Host == "" || u.Port() != "":
		return "", "", fmt.Errorf("%w, with the name of a bucket", ErrPlace)
	}
	return u.Host, strings.TrimPrefix(u.Path, "/"), nil
}

// Read reads and verifies a backup of a place as [backup.Read] does, and checks that the backup has its name. It fails soon after ctx is
// canceled.
func Read(ctx context.Context, p Place, name Name) (*backup.Backup, error) {
	r, size, err := p.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	b, err := backup.ReadStream(reader(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return r.Read(p)
	}), size, fsm.Version)
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if !name.Of(b.Header) {
		return nil, fmt.Errorf("%s: %w (its content has another name: %s)", name, backup.ErrDamaged, NameOf(b.Header))
	}
	return b, nil
}

// reader is a function that reads.
type reader func(p []byte) (int, error)

func (r reader) Read(p []byte) (int, error) { return r(p) }

// Header reads the header of a backup. It does not verify the rest.
func Header(ctx context.Context, p Place, name Name) (*commandv1.BackupHeader, error) {
	r, size, err := p.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	h, err := backup.ReadHeader(r, size)
	return h, errors.Join(err, r.Close())
}

// Find returns the place of a backup and its name. text names a place, a folder for one cluster at a place, or a backup there: a URL
// or a path. Of several backups, Find returns the one with the latest state. It fails if there is none, or if the backups are of
// several clusters.
func Find(ctx context.Context, text string) (Place, Name, error) {
	where, folder, file := split(text)
	p, err := At(where)
	if err != nil {
		return nil, Name{}, err
	}
	if file != "" {
		name, ok := ParseName(folder + "/" + file)
		if !ok {
			return nil, Name{}, fmt.Errorf("%s: expected the name of a scheduled backup, such as %s", file, Name{Cluster: folder, Index: 1, Term: 1})
		}
		return p, name, nil
	}
	all, err := p.List(ctx, folder)
	if err != nil {
		return nil, Name{}, err
	}
	if len(all) == 0 {
		return nil, Name{}, fmt.Errorf("%s: %w", text, ErrNone)
	}
	clusters := make(map[string]bool)
	for _, e := range all {
		clusters[e.Cluster] = true
	}
	if len(clusters) > 1 {
		return nil, Name{}, fmt.Errorf("%s: backups of several clusters; give the folder of one: %s", text, strings.Join(slices.Sorted(maps.Keys(clusters)), ", "))
	}
	return p, slices.MaxFunc(all, func(a, b Entry) int { return a.Compare(b.Name) }).Name, nil
}

// split divides the path or the URL of a place from the folder and the file there, if it names them.
func split(text string) (where, folder, file string) {
	where = strings.TrimRight(text, "/")
	if strings.HasSuffix(where, suffix) {
		if at := strings.LastIndexByte(where, '/'); at >= 0 {
			where, file = where[:at], where[at+1:]
		}
	}
	at := strings.LastIndexByte(where, '/')
	if folder = where[at+1:]; uuid.Validate(folder) == nil {
		return where[:max(at, 0)], folder, file
	}
	return text, "", ""
}
