package backup

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

	"holdfast/store"
	"holdfast/store/bucket"
)

// In a bucket, a set consists of all objects under prefix/name/. Objects cannot be renamed, so copyBackup uploads the
// database last: a backup counts as complete if its database exists. An incremental backup ends before the first
// missing increment. The time of a file is its upload time at the storage service.

const (
	bucketScheme = "s3://"
	// listingAge is how long bucketDestination.backups reuses its last list. Storage services charge for each listing.
	listingAge = time.Hour
)

// Access holds the settings for connecting to a bucket of S3-compatible storage.
type Access struct{ Endpoint, Region, AccessKey, SecretKey string }

var (
	bucketName   = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	bucketPrefix = regexp.MustCompile(`^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*$`)
	regionName   = regexp.MustCompile(`^[a-z0-9-]+$`)
)

// parseBucket returns the shortest form of s3://bucket/prefix/, or an error if v is not a valid bucket name.
func parseBucket(v string) (string, error) {
	name, prefix, _ := strings.Cut(strings.TrimPrefix(v, bucketScheme), "/")
	prefix = strings.Trim(prefix, "/")
	if !bucketName.MatchString(name) || prefix != "" && (!bucketPrefix.MatchString(prefix) ||
		path.Clean("/"+prefix) != "/"+prefix) {
		return "", fmt.Errorf("%q must look like s3://bucket or s3://bucket/prefix. The prefix may contain letters, digits and the characters -_./", v)
	}
	return bucketScheme + path.Join(name, prefix), nil
}

// ParseEndpoint reads the address of the storage service. Empty means AWS.
func ParseEndpoint(v string) (string, error) {
	if v == "" {
		return "", nil
	}
	u, err := url.Parse(v)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "" {
		return "", errors.New("must be an address such as https://s3.example.net")
	}
	return strings.TrimSuffix(v, "/"), nil
}

// ParseRegion reads the name of a region.
func ParseRegion(v string) (string, error) {
	if !regionName.MatchString(v) {
		return "", fmt.Errorf("%q must be the name of a region, such as eu-central-1", v)
	}
	return v, nil
}

// ParseAccessKey reads an access key or a secret key. Its errors do not contain the key.
func ParseAccessKey(v string) (string, error) {
	for i := range len(v) {
		if v[i] <= ' ' || v[i] > '~' {
			return "", errors.New("may contain only visible ASCII characters, without spaces")
		}
	}
	return v, nil
}

// Missing returns an error that names the settings that a bucket needs but a lacks. It returns nil if none is missing,
// and for every directory.
func (a Access) Missing(destination string) error {
	if strings.HasPrefix(destination, bucketScheme) && a.AccessKey == "" {
		return fmt.Errorf("%s is a bucket and needs --backup-s3-access-key and --backup-s3-secret-key (better: "+
			"--backup-s3-secret-key-file)", destination)
	}
	return nil
}

// bucketDestination is a destination in a bucket.
type bucketDestination struct {
	objects *bucket.Bucket
	name    string // s3://bucket/prefix
	prefix  string // prefix of all keys; empty, or ends with a slash
	spool   string // directory for sealed files that are being sent

	listed   []copyInfo // the last result of backups
	listedAt time.Time  // if zero, list again
	doubtful string     // a backup that may be complete even though its upload failed; empty if none
}

// open returns the destination that name describes. It does not access the network.
func (a Access) open(name, spool string) *bucketDestination {
	in, prefix, _ := strings.Cut(strings.TrimPrefix(name, bucketScheme), "/")
	if prefix != "" {
		prefix += "/"
	}
	return &bucketDestination{
		objects: bucket.New(bucket.Options{Endpoint: a.Endpoint, Region: a.Region, Bucket: in, AccessKey: a.AccessKey,
			SecretKey: a.SecretKey}),
		name: name, prefix: prefix, spool: spool,
	}
}

func (b *bucketDestination) String() string         { return b.name }
func (b *bucketDestination) path(set string) string { return b.name + "/" + set }

func (b *bucketDestination) key(set, file string) string { return b.prefix + set + "/" + file }

// recipient implements destination: files in a bucket are always sealed.
func (b *bucketDestination) recipient(data string) (*age.X25519Recipient, error) {
	to, err := recipientOf(data)
	if err == nil && to == nil {
		err = fmt.Errorf("copies to %s must be encrypted, but there is no backup key yet. Create one with holdfast "+
			"backup-key, and print it", b)
	}
	return to, err
}

// explain adds a hint for the operator to an error from the storage service.
func (b *bucketDestination) explain(err error) error {
	for kind, remedy := range map[error]string{
		bucket.ErrKey:         "See --backup-s3-access-key and --backup-s3-secret-key",
		bucket.ErrClock:       "Set the clock and keep it synchronized (timedatectl set-ntp true)",
		bucket.ErrNoBucket:    "Create the bucket, or choose another bucket with --backup-to",
		bucket.ErrDenied:      "Allow this in the bucket's policy (docs/backup.md has an example)",
		bucket.ErrElsewhere:   "See --backup-s3-region and --backup-s3-endpoint",
		bucket.ErrUnreachable: "Check the network and --backup-s3-endpoint",
	} {
		if errors.Is(err, kind) {
			return fmt.Errorf("%w. %s", err, remedy)
		}
	}
	return err
}

func (b *bucketDestination) sets(ctx context.Context) ([]string, error) {
	names, err := b.objects.Folders(ctx, b.prefix)
	for i := range names {
		names[i] = strings.TrimSuffix(names[i], "/")
	}
	return names, b.explain(err)
}

// objectsBySet lists the objects of the sets whose names begin with begin, by set. It omits objects in deeper folders.
func (b *bucketDestination) objectsBySet(ctx context.Context, begin string) (map[string][]bucket.Object, error) {
	list, err := b.objects.List(ctx, b.prefix+begin)
	all := map[string][]bucket.Object{}
	for _, o := range list {
		set, file, ok := strings.Cut(strings.TrimPrefix(o.Key, b.prefix), "/")
		if ok && file != "" && !strings.Contains(file, "/") {
			o.Key = file
			all[set] = append(all[set], o)
		}
	}
	return all, b.explain(err)
}

// backups implements destination. It lists the bucket at most once per listingAge. It omits a doubtful backup, so that
// Daily copies that backup again.
func (b *bucketDestination) backups(ctx context.Context) ([]copyInfo, error) {
	if !b.listedAt.IsZero() && time.Since(b.listedAt) < listingAge {
		return b.listed, nil
	}
	sets, err := b.objectsBySet(ctx, ownPrefix)
	if err != nil {
		return nil, err
	}
	b.listed = nil
	for name, files := range sets {
		at, own, ok := parseName(name)
		i := slices.IndexFunc(files, func(o bucket.Object) bool { return isDatabase(o.Key) })
		if ok && i >= 0 && name != b.doubtful {
			b.listed = append(b.listed, copyInfo{name, at, own, files[i].Size})
		}
	}
	sort.Slice(b.listed, func(i, j int) bool { return b.listed[i].name < b.listed[j].name })
	b.listedAt = time.Now()
	return b.listed, nil
}

// isDatabase reports whether a file of a sealed backup is its database.
func isDatabase(file string) bool {
	return file == DatabaseFile+sealedSuffix || file == ScriptFile+sealedSuffix
}

func (b *bucketDestination) incrementals(ctx context.Context) (list []Incremental, err error) {
	sets, err := b.objectsBySet(ctx, incrementalPrefix)
	if err != nil {
		return nil, err
	}
	for name, files := range sets {
		if _, _, ok := parseIncrementalName(name); ok {
			var found []incrementFile
			for _, o := range files {
				found = append(found, incrementFile{name: o.Key, bytes: o.Size, made: o.Modified})
			}
			list = append(list, incrementalOf(b.path(name), found, nil))
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Number < list[j].Number })
	return list, nil
}

// copyBackup implements destination. It uploads the database last.
func (b *bucketDestination) copyBackup(ctx context.Context, from, set string, to *age.X25519Recipient) error {
	b.listedAt, b.doubtful = time.Time{}, set
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	var files []string
	for _, e := range entries {
		files = append(files, e.Name())
	}
	sort.SliceStable(files, func(i, j int) bool {
		return !isDatabase(files[i]+sealedSuffix) &&
			isDatabase(files[j]+sealedSuffix)
	})
	for _, file := range files {
		if err := b.putSealed(ctx, filepath.Join(from, file), set, file+sealedSuffix, to); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	b.doubtful = ""
	return nil
}

// putSealed seals a file and puts it into a set.
func (b *bucketDestination) putSealed(ctx context.Context, from, set, file string, to *age.X25519Recipient) error {
	spool, err := os.MkdirTemp(b.spool, SpoolPattern)
	if err != nil {
		return err
	}
	defer os.RemoveAll(spool)
	sealed := filepath.Join(spool, file)
	digest, err := sealFile(from, sealed, to)
	if err != nil {
		return err
	}
	return b.put(ctx, sealed, set, file, digest, time.Time{})
}

// put implements destination. If the access key has no right to read, put skips the comparison after the upload: the
// service has already compared the digest, because the request is signed with it.
func (b *bucketDestination) put(ctx context.Context, from, set, file string, digest []byte, _ time.Time) error {
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
			return fmt.Errorf("%w (%w)", b.explain(err), errUnknown)
		}
		return b.explain(err)
	}
	h := sha256.New()
	err = b.objects.Get(ctx, b.key(set, file), func() (io.Writer, error) { h.Reset(); return h, nil })
	switch {
	case errors.Is(err, bucket.ErrDenied):
		return nil
	case err != nil:
		return fmt.Errorf("the upload could not be read back: %w (%w)", b.explain(err), errUnknown)
	case !bytes.Equal(h.Sum(nil), digest):
		return errors.New("the upload differs from the original when read back. Contact the operator of the storage")
	}
	return nil
}

func (b *bucketDestination) begin(string) error { return nil }
func (b *bucketDestination) finish() error      { return nil }

func (b *bucketDestination) has(ctx context.Context, set, file string, bytes int64) (bool, error) {
	list, err := b.objects.List(ctx, b.key(set, file))
	return len(list) > 0 && list[0].Key == b.key(set, file) && list[0].Size == bytes, b.explain(err)
}

// remove implements destination. A partly deleted set must not look complete. So remove deletes the database before the
// other files of a backup, and the first increment after the later ones.
func (b *bucketDestination) remove(ctx context.Context, set string) error {
	b.listedAt = time.Time{}
	list, err := b.objects.List(ctx, b.prefix+set+"/")
	if err != nil {
		return b.explain(err)
	}
	keys := make([]string, len(list))
	for i, o := range list {
		keys[i] = o.Key
	}
	sort.SliceStable(keys, func(i, j int) bool {
		return !isDatabase(path.Base(keys[i])) &&
			isDatabase(path.Base(keys[j]))
	})
	return b.explain(b.objects.Delete(ctx, keys...))
}

// fetch downloads a set into an existing directory. Each file gets the time of its upload.
func (b *bucketDestination) fetch(ctx context.Context, set, into string) error {
	sets, err := b.objectsBySet(ctx, set+"/")
	if err != nil {
		return err
	}
	if len(sets[set]) == 0 {
		return fmt.Errorf("%s does not exist. To list the backups there, run holdfast restore --list %s", b.path(set),
			b)
	}
	for i, o := range sets[set] {
		store.BeginStep(ctx, "downloading the backup", store.Of(i, len(sets[set])))
		to := filepath.Join(into, o.Key)
		if filepath.Base(to) != o.Key || strings.HasPrefix(o.Key, ".") {
			continue
		}
		if err := b.objects.GetFile(ctx, b.key(set, o.Key), to); err != nil {
			return fmt.Errorf("%s: %w", b.path(set+"/"+o.Key), b.explain(err))
		}
		if err := os.Chtimes(to, time.Time{}, o.Modified); err != nil {
			return err
		}
	}
	return nil
}
