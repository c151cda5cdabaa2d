package bucket

import "testing"

// TestParseBucketURL checks the URL of a bucket. At AWS, the host contains the bucket's name if the certificate covers
// it. Otherwise the name is the first part of the path.
func TestParseBucketURL(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]Options{
		"https://copies.s3.us-east-1.amazonaws.com":          {Bucket: "copies"},
		"https://copies.s3.eu-central-1.amazonaws.com":       {Bucket: "copies", Region: "eu-central-1"},
		"https://s3.eu-central-1.amazonaws.com/copies.of.it": {Bucket: "copies.of.it", Region: "eu-central-1"},
		"https://s3.example.net/copies":                      {Bucket: "copies", Endpoint: "https://s3.example.net/"},
		"http://storage.example.net:9000/storage/v1/s3/copies": {Bucket: "copies",
			Endpoint: "http://storage.example.net:9000/storage/v1/s3", Region: "auto"},
	} {
		if got := New(o).base; got != want {
			t.Errorf("%+v: got %s, want %s", o, got, want)
		}
	}
}
