package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"time"

	"filippo.io/age"

	"holdfast/store/bucket"
)

// # Copies in a bucket
//
// A set is the objects under prefix/name/. There is no rename: a backup is there once its database is, which is put last, and a trail is as long as
// its steps follow one another. When something was made is what the service says of when it was put. All of it is sealed.

const (
	bucketScheme = "s3://"
	// lookAgain is how long what a bucket was seen to have is believed, since each look is a call.
	lookAgain = time.Hour
)

// s3Config says how the buckets of S3-compatible storage are reached.
type s3Config struct{ endpoint, region, accessKey, secretKey string }

// s3Settings are the rows of the table about buckets.
func s3Settings() []setting {
	return []setting{
		{
			name: "backup-s3-endpoint", audience: forServing | forCopies,
			group: "Backups", value: "URL", help: "address of the S3 storage, such as https://s3.example.net; default: AWS",
			set: func(c *config, v string) (err error) { c.backups.s3.endpoint, err = parseEndpoint(v); return err },
		}, {
			name: "backup-s3-region", fallback: "us-east-1", audience: forServing | forCopies,
			group: "Backups", value: "REGION", help: "region of the bucket",
			set: func(c *config, v string) (err error) { c.backups.s3.region, err = parseRegion(v); return err },
		}, {
			name: "backup-s3-access-key", with: []string{"backup-s3-secret-key"}, audience: forServing | forCopies,
			group: "Backups", value: "KEY", help: "access key for the bucket",
			more: "Needs `--backup-s3-secret-key`.",
			set:  func(c *config, v string) (err error) { c.backups.s3.accessKey, err = parseS3Key(v); return err },
		}, {
			name: "backup-s3-secret-key", secret: true, with: []string{"backup-s3-access-key"}, audience: forServing | forCopies,
			group: "Backups", value: "KEY", help: "secret key for the bucket",
			set: func(c *config, v string) (err error) { c.backups.s3.secretKey, err = parseS3Key(v); return err },
		},
	}
}

var (
	bucketName   = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	bucketPrefix = regexp.MustCompile(`^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*$`)
	regionName   = regexp.MustCompile(`^[a-z0-9-]+$`)
)

// parseBucket brings s3://bucket/prefix/ to its shortest form.
func parseBucket(v string) (string, error) {
	name, prefix, _ := strings.Cut(strings.TrimPrefix(v, bucketScheme), "/")
	prefix = strings.Trim(prefix, "/")
	if !bucketName.MatchString(name) || prefix != "" && (!bucketPrefix.MatchString(prefix) || path.Clean("/"+prefix) != "/"+prefix) {
		return "", fmt.Errorf("%q should be like s3://bucket or s3://bucket/prefix, the prefix of letters, digits and -_./", v)
	}
	return bucketScheme + path.Join(name, prefix), nil
}

func parseEndpoint(v string) (string, error) {
	if v == "" {
		return "", nil
	}
	u, err := url.Parse(v)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("should be an address such as https://s3.example.net")
	}
	return strings.TrimSuffix(v, "/"), nil
}

func parseRegion(v string) (string, error) {
	if !regionName.MatchString(v) {
		return "", fmt.Errorf("%q should be the name of a region, such as eu-central-1", v)
	}
	return v, nil
}

func parseS3Key(v string) (string, error) {
	for i := range len(v) {
		if v[i] <= ' ' || v[i] > '~' {
			return "", errors.New("may have visible ASCII characters only, without spaces")
		}
	}
	return v, nil
}

// missing says what a bucket cannot be reached without; nil for a directory.
func (o s3Config) missing(place string) error {
	if strings.HasPrefix(place, bucketScheme) && o.accessKey == "" {
		return fmt.Errorf("%s is a bucket, and needs --backup-s3-access-key and --backup-s3-secret-key (better --backup-s3-secret-key-file)", place)
	}
	return nil
}

// bucketPlace is a place in a bucket.
type bucketPlace struct {
	objects *bucket.Bucket
	name    string // s3://bucket/prefix
	prefix  string // of all keys: empty, or with a slash at its end
	spool   string // directory for what is sealed before it is sent

	seen   []backupAt // when it was looked last
	seenAt time.Time  // zero: it has to be looked
	doubt  string     // backup whose copy was not found to be good, though all of it may be there; empty: none
}

func (o s3Config) openBucket(name, spool string) *bucketPlace {
	in, prefix, _ := strings.Cut(strings.TrimPrefix(name, bucketScheme), "/")
	if prefix != "" {
		prefix += "/"
	}
	return &bucketPlace{
		objects: bucket.New(bucket.Options{Endpoint: o.endpoint, Region: o.region, Bucket: in, AccessKey: o.accessKey, SecretKey: o.secretKey}),
		name:    name, prefix: prefix, spool: spool,
	}
}

func (b *bucketPlace) String() string         { return b.name }
func (b *bucketPlace) path(set string) string { return b.name + "/" + set }

func (b *bucketPlace) key(set, file string) string { return b.prefix + set + "/" + file }

// sealer implements place: what leaves the building is sealed.
func (b *bucketPlace) sealer(d *dataDir) (*age.X25519Recipient, error) {
	recipient, err := d.sealer()
	if err == nil && recipient == nil {
		err = fmt.Errorf("nothing is copied to %s in the clear, and no key was made yet that seals it: make one with holdfast backup-key, and print it", b)
	}
	return recipient, err
}

// said adds the next step to what a service has refused.
func (b *bucketPlace) said(err error) error {
	for kind, remedy := range map[error]string{
		bucket.ErrKey:         "See --backup-s3-access-key and --backup-s3-secret-key",
		bucket.ErrClock:       "Set the clock, and have it kept (timedatectl set-ntp true)",
		bucket.ErrNoBucket:    "Make it, or name another with --backup-to",
		bucket.ErrDenied:      "Give it the right in the bucket's policy (docs/backup.md has one)",
		bucket.ErrElsewhere:   "See --backup-s3-region and --backup-s3-endpoint",
		bucket.ErrUnreachable: "Is there a network, and is --backup-s3-endpoint right?",
	} {
		if errors.Is(err, kind) {
			return fmt.Errorf("%w. %s", err, remedy)
		}
	}
	return err
}

func (b *bucketPlace) sets(ctx context.Context) ([]string, error) {
	names, err := b.objects.Folders(ctx, b.prefix)
	for i := range names {
		names[i] = strings.TrimSuffix(names[i], "/")
	}
	return names, b.said(err)
}

// bySet lists the objects of the sets whose names begin so, by the name of the set. What lies elsewhere is left out.
func (b *bucketPlace) bySet(ctx context.Context, begin string) (map[string][]bucket.Object, error) {
	list, err := b.objects.List(ctx, b.prefix+begin)
	all := map[string][]bucket.Object{}
	for _, o := range list {
		set, file, ok := strings.Cut(strings.TrimPrefix(o.Key, b.prefix), "/")
		if ok && file != "" && !strings.Contains(file, "/") {
			o.Key = file
			all[set] = append(all[set], o)
		}
	}
	return all, b.said(err)
}

// backups implements place. What it has seen it says again for an hour. A backup whose copy was not found to be good is none, and is copied again.
func (b *bucketPlace) backups(ctx context.Context) ([]backupAt, error) {
	if !b.seenAt.IsZero() && time.Since(b.seenAt) < lookAgain {
		return b.seen, nil
	}
	sets, err := b.bySet(ctx, ownBackup)
	if err != nil {
		return nil, err
	}
	b.seen = nil
	for name, files := range sets {
		at, own, ok := madeAt(name)
		if i := slices.IndexFunc(files, func(o bucket.Object) bool { return isDatabase(o.Key) }); ok && i >= 0 && name != b.doubt {
			b.seen = append(b.seen, backupAt{name, at, own, files[i].Size})
		}
	}
	sort.Slice(b.seen, func(i, j int) bool { return b.seen[i].name < b.seen[j].name })
	b.seenAt = time.Now()
	return b.seen, nil
}

// isDatabase reports whether a file of a backup is its database, sealed.
func isDatabase(file string) bool {
	return file == databaseFile+sealedSuffix || file == scriptFile+sealedSuffix
}

func (b *bucketPlace) trails(ctx context.Context) (list []trailAt, err error) {
	sets, err := b.bySet(ctx, trailBegin)
	if err != nil {
		return nil, err
	}
	for name, files := range sets {
		if _, _, ok := parseTrailName(name); ok {
			var found []stepFile
			for _, o := range files {
				found = append(found, stepFile{name: o.Key, bytes: o.Size, made: o.Modified})
			}
			list = append(list, trailOf(b.path(name), found, nil))
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].number < list[j].number })
	return list, nil
}

// copyBackup implements place: the database comes last.
func (b *bucketPlace) copyBackup(ctx context.Context, from, set string, recipient *age.X25519Recipient) error {
	b.seenAt, b.doubt = time.Time{}, set
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	var files []string
	for _, e := range entries {
		files = append(files, e.Name())
	}
	sort.SliceStable(files, func(i, j int) bool { return !isDatabase(files[i]+sealedSuffix) && isDatabase(files[j]+sealedSuffix) })
	for _, file := range files {
		if err := b.seal(ctx, filepath.Join(from, file), set, file+sealedSuffix, recipient); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	b.doubt = ""
	return nil
}

// seal puts a file into a set, sealed.
func (b *bucketPlace) seal(ctx context.Context, from, set, file string, recipient *age.X25519Recipient) error {
	spool, err := os.MkdirTemp(b.spool, spoolFile)
	if err != nil {
		return err
	}
	defer os.RemoveAll(spool)
	sealed := filepath.Join(spool, file)
	digest, err := sealFile(from, sealed, recipient)
	if err != nil {
		return err
	}
	return b.putStep(ctx, sealed, set, file, digest, time.Time{})
}

// putStep implements place. What the key may not read is not read back: the service has compared the digest, with which the request is signed.
func (b *bucketPlace) putStep(ctx context.Context, from, set, file string, digest []byte, _ time.Time) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := b.objects.Put(ctx, b.key(set, file), f, info.Size(), digest); err != nil {
		if !bucket.Refused(err) {
			return fmt.Errorf("%w (%w)", b.said(err), errUnsure)
		}
		return b.said(err)
	}
	h := sha256.New()
	err = b.objects.Get(ctx, b.key(set, file), func() (io.Writer, error) { h.Reset(); return h, nil })
	switch {
	case errors.Is(err, bucket.ErrDenied):
		return nil
	case err != nil:
		return fmt.Errorf("it was not read back: %w (%w)", b.said(err), errUnsure)
	case !bytes.Equal(h.Sum(nil), digest):
		return errors.New("it reads back as something else: ask whoever keeps that storage")
	}
	return nil
}

func (b *bucketPlace) beginTrail(string) error { return nil }
func (b *bucketPlace) finish() error           { return nil }

func (b *bucketPlace) hasStep(ctx context.Context, set, file string, bytes int64) (bool, error) {
	list, err := b.objects.List(ctx, b.key(set, file))
	return len(list) > 0 && list[0].Key == b.key(set, file) && list[0].Size == bytes, b.said(err)
}

// remove implements place. Of what is left of a set that was not wholly deleted nobody thinks that it is whole: the database goes before what is
// beside it, and the first step of a trail after all that follow it.
func (b *bucketPlace) remove(ctx context.Context, set string) error {
	b.seenAt = time.Time{}
	list, err := b.objects.List(ctx, b.prefix+set+"/")
	if err != nil {
		return b.said(err)
	}
	keys := make([]string, len(list))
	for i, o := range list {
		keys[i] = o.Key
	}
	sort.SliceStable(keys, func(i, j int) bool { return !isDatabase(path.Base(keys[i])) && isDatabase(path.Base(keys[j])) })
	return b.said(b.objects.Delete(ctx, keys...))
}

// fetch brings a set into a directory that is there, each file with the time at which it was put.
func (b *bucketPlace) fetch(ctx context.Context, set, into string) error {
	sets, err := b.bySet(ctx, set+"/")
	if err != nil {
		return err
	}
	if len(sets[set]) == 0 {
		return fmt.Errorf("there is nothing at %s: holdfast restore --list %s says what there is", b.path(set), b)
	}
	for _, o := range sets[set] {
		to := filepath.Join(into, o.Key)
		if filepath.Base(to) != o.Key || strings.HasPrefix(o.Key, ".") {
			continue
		}
		if err := b.objects.GetFile(ctx, b.key(set, o.Key), to); err != nil {
			return fmt.Errorf("%s: %w", b.path(set+"/"+o.Key), b.said(err))
		}
		if err := os.Chtimes(to, time.Time{}, o.Modified); err != nil {
			return err
		}
	}
	return nil
}
