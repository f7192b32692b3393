package archive

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

const (
	// partBytes is the size of the parts of a large backup, and the memory that an upload takes.
	partBytes = 16 << 20
	// tries is the number of attempts of a request that may succeed later. The schedule repeats what fails nevertheless.
	tries = 3
	// awsEndpoint is the server of Amazon.
	awsEndpoint = "https://s3.amazonaws.com"
)

// bucket is a place in a bucket of S3.
type bucket struct {
	client *minio.Client
	name   string
	prefix string // empty, or ends with a slash
}

// newBucket returns the place in a bucket of the server that the environment names as for Amazon's own tools: AWS_ENDPOINT_URL_S3 or
// AWS_ENDPOINT_URL, and AWS_REGION. The credentials are those of the environment, of the files of Amazon's tools, or of the role of
// the machine or the pod, in this order. The library reads them when a request needs them.
func newBucket(name, prefix string) (*bucket, error) {
	text := cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"), awsEndpoint)
	endpoint, err := url.Parse(text)
	if err != nil || endpoint.Host == "" || endpoint.User != nil || (endpoint.Scheme != "https" && endpoint.Scheme != "http") {
		return nil, errors.New("AWS_ENDPOINT_URL: expected the URL of a server, such as https://s3.example.net, without credentials")
	}
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{},
		}),
		Secure: endpoint.Scheme == "https", Region: cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")), MaxRetries: tries,
	})
	if err != nil {
		return nil, err
	}
	if prefix != "" {
		prefix += "/"
	}
	return &bucket{client: client, name: name, prefix: prefix}, nil
}

func (b *bucket) String() string { return strings.TrimSuffix(scheme+b.name+"/"+b.prefix, "/") }

func (b *bucket) key(name Name) string { return b.prefix + name.String() }

// failed returns an error of the server with the place, and with os.ErrNotExist for an object that does not exist.
func (b *bucket) failed(err error) error {
	if err == nil {
		return nil
	}
	if minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		err = fmt.Errorf("%w: %w", os.ErrNotExist, err)
	}
	return fmt.Errorf("%s: %w", b, err)
}

// List implements Place.
func (b *bucket) List(ctx context.Context, cluster string) (all []Entry, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the list of the library
	within := b.prefix
	if cluster != "" {
		within += cluster + "/"
	}
	seen := 0
	for object := range b.client.ListObjectsIter(ctx, b.name, minio.ListObjectsOptions{Prefix: within, Recursive: true}) {
		if object.Err != nil {
			return nil, b.failed(object.Err)
		}
		if seen++; seen > maxEntries {
			return nil, b.failed(errTooMany)
		}
		if name, ok := ParseName(strings.TrimPrefix(object.Key, b.prefix)); ok {
			all = append(all, Entry{name, object.Size})
		}
	}
	return all, nil
}

// Put implements Place. S3 shows an object only when it is complete. A backup of more than partBytes goes up in parts.
func (b *bucket) Put(ctx context.Context, name Name, write func(io.Writer) error) error {
	r, w := io.Pipe()
	go func() { w.CloseWithError(write(w)) }()
	defer func() { _ = r.Close() }() // ends write
	var first bytes.Buffer
	content, size := io.Reader(&first), int64(-1)
	switch _, err := io.CopyN(&first, r, partBytes); {
	case errors.Is(err, io.EOF):
		content, size = bytes.NewReader(first.Bytes()), int64(first.Len())
	case err != nil:
		return err
	default:
		content = io.MultiReader(content, r)
	}
	_, err := b.client.PutObject(ctx, b.name, b.key(name), content, size, minio.PutObjectOptions{PartSize: partBytes})
	return b.failed(err)
}

// Open implements Place.
func (b *bucket) Open(ctx context.Context, name Name) (io.ReadCloser, int64, error) {
	object, err := b.client.GetObject(ctx, b.name, b.key(name), minio.GetObjectOptions{})
	if err != nil {
		return nil, 0, b.failed(err)
	}
	info, err := object.Stat()
	if err != nil {
		return nil, 0, errors.Join(b.failed(err), object.Close())
	}
	return object, info.Size, nil
}

// Remove implements Place.
func (b *bucket) Remove(ctx context.Context, name Name) error {
	return b.failed(b.client.RemoveObject(ctx, b.name, b.key(name), minio.RemoveObjectOptions{}))
}
