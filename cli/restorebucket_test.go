package cli

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/store/backup"
	"holdfast/store/bucket/buckettest"
)

// inBucket starts an object storage service that runs until the test ends. It returns the name of a folder in a bucket,
// and the flags for access to it.
func inBucket(t *testing.T) (name string, flags []string, s *buckettest.Service) {
	t.Helper()
	s = buckettest.Start(t)
	return "s3://" + buckettest.Name + "/copies/berlin", reach(s.URL, buckettest.Access, buckettest.Secret), s
}

// reach returns the flags for access to a service.
func reach(endpoint, access, secret string) []string {
	return []string{"--backup-s3-endpoint", endpoint, "--backup-s3-access-key", access, "--backup-s3-secret-key",
		secret}
}

// eachPlace runs a test with a destination of each kind.
func eachPlace(t *testing.T, test func(t *testing.T, name string, flags []string)) {
	t.Helper()
	t.Run("directory", func(t *testing.T) {
		t.Parallel()
		test(t, t.TempDir(), nil)
	})
	t.Run("bucket", func(t *testing.T) {
		t.Parallel()
		name, flags, _ := inBucket(t)
		test(t, name, flags)
	})
}

// TestBucketBackupIsRestoredWithRecoveryKey: the machine is lost, and only the bucket, its access key and the printed
// recovery key are left.
func TestBucketBackupIsRestoredWithRecoveryKey(t *testing.T) {
	t.Parallel()
	name, flags, s := inBucket(t)
	dir := clinicDir(t)
	paper := write(t, must(t, "backup-key", "--data", dir))
	exported := must(t, "export", "--data", dir)
	h, _ := backingUp(t, dir, append(flags, "--backup-to", name, "--backup-keep", "1,0,0")...)
	d, today := h.backups.Daily(), time.Now()
	var kept []string
	for night := range 3 {
		d.Run(t.Context(), today.AddDate(0, 0, night))
		kept, _ = filepath.Glob(filepath.Join(s.Root, "copies", "berlin", "auto-*"))
		if len(kept) != 1 {
			t.Fatalf("after %d nights, the bucket has %v; want the newest backups", night+1, kept)
		}
	}
	if last, err := h.backups.Last(); err != nil || "auto-"+
		last.UTC().Format(backup.StampFormat) != filepath.Base(kept[0]) {
		t.Errorf("the last backup is of %s, %v; want %s", last, err, kept[0])
	}
	if err := h.close(); err != nil {
		t.Fatal(err)
	}

	lost := filepath.Join(t.TempDir(), "data")
	said := must(t, append([]string{"restore", "--data", lost, "--list", name}, flags...)...)
	path := name + "/" + filepath.Base(kept[0])
	contains(t, "the list", said, path)
	environ := []string{"HOLDFAST_BACKUP_S3_ENDPOINT=" + s.URL, "HOLDFAST_BACKUP_S3_ACCESS_KEY=" + buckettest.Access,
		"HOLDFAST_BACKUP_S3_SECRET_KEY_FILE=" + write(t, buckettest.Secret+"\n")}
	for what, c := range map[string]struct {
		args []string
		says string
	}{
		"without the paper": {[]string{path}, "is encrypted"},
		"with another": {[]string{"--key", write(t, newKey(t).String()), path}, path + "/" + databaseFile +
			".age" + " was encrypted with a different key. Use the key that backup-key printed"},
		"of what is not there": {[]string{"--key", paper, name + "/auto-20200101T000000.000Z"}, name +
			"/auto-20200101T000000.000Z does not exist"},
		"of no bucket": {[]string{"--key", paper, "s3://another-one/copies/auto-20200101T000000.000Z"},
			"has no bucket another-one"},
		"of what no bucket has": {[]string{"--key", paper, "s3://x"}, "must look like s3://bucket"},
	} {
		got := command(t, environ, "", append([]string{"restore", "--data", lost}, c.args...)...)
		if got.code == 0 || !strings.Contains(got.stderr, c.says) || strings.Contains(got.stderr, buckettest.Secret) {
			t.Errorf("%s: exit code %d, %q; want %q", what, got.code, got.stderr, c.says)
		}
	}
	if got := command(t, nil, "", "restore", "--data", lost, path); got.code != 2 ||
		!strings.Contains(got.stderr, "--backup-s3-access-key") {
		t.Errorf("without the bucket's key: exit code %d, %q", got.code, got.stderr)
	}
	if got := command(t, environ, "", "restore", "--data", lost, "--key", paper, path); got.code != 0 {
		t.Fatalf("restore: exit code %d, %s", got.code, got.stderr)
	}
	if got := must(t, "export", "--data", lost); got != exported {
		t.Error("the restored clinic differs")
	}
	if left, err := filepath.Glob(filepath.Join(lost, ".*")); err != nil || len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// TestRestoreReportsFailedListing: if the newer copies cannot be listed, restore reports this. Otherwise the operator
// might continue with an old copy.
func TestRestoreReportsFailedListing(t *testing.T) {
	t.Parallel()
	text := restoredText("it", "here", nil, backup.Restored{}, nil, errors.New("unreachable"))
	contains(t, "restore", text, "there may be newer incremental backups", "unreachable")
}
