package bucket

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"holdfast/store"
)

var (
	// ErrKey means that the service does not know the access key, or the secret key does not match it.
	ErrKey = errors.New("wrong key")
	// ErrDenied means that the access key does not permit this operation.
	ErrDenied = errors.New("not allowed")
	// ErrClock means that the clock of this machine differs too much from the service's clock, so the signature is
	// invalid.
	ErrClock = errors.New("wrong clock")
	// ErrNoBucket means that the bucket does not exist.
	ErrNoBucket = errors.New("no such bucket")
	// ErrElsewhere means that the bucket is in another region, or has a different address.
	ErrElsewhere = errors.New("the bucket is in another region")
	// ErrNotSent means that no request was made, because the content is too large, unreadable or changed.
	ErrNotSent = errors.New("nothing was sent")
	// ErrUnreachable means that there was no response, or no valid S3 response.
	ErrUnreachable = errors.New("no answer")
)

// Error is an error response from the service, or a missing response. It wraps one of the sentinels above,
// store.ErrNotFound if the object does not exist, or store.ErrFull if there is no space. Its text contains no secret
// key and no signature.
type Error struct {
	Status int    `xml:"-"` // if it is 0, there was no response
	Code   string // the service's error code, such as AccessDenied
	Region string // region of the bucket, if the service reports it

	unsure bool // an earlier try may have taken effect

	words string
	kind  error
	cause error
}

func (e *Error) Error() string { return e.words }

// Unwrap returns the kind and the cause of the error, for errors.Is.
func (e *Error) Unwrap() (all []error) {
	for _, err := range []error{e.kind, e.cause} {
		if err != nil {
			all = append(all, err)
		}
	}
	return all
}

// Refused reports whether the call had no effect and cannot have one later: the service refused it, or it was not sent.
func Refused(err error) bool {
	var e *Error
	return errors.Is(err, ErrNotSent) || errors.As(err, &e) && !e.unsure && e.isRefusal() && !e.mayPass()
}

// isRefusal reports whether the response proves that this try had no effect. A status such as 500 or 504 does not prove
// it.
func (e *Error) isRefusal() bool {
	return e.Status >= http.StatusBadRequest && e.Status < http.StatusInternalServerError &&
		e.Status != http.StatusRequestTimeout ||
		e.Status != 0 && errors.Is(e.kind, store.ErrFull)
}

// mayPass reports whether the error is retryable.
func (e *Error) mayPass() bool {
	switch e.Status {
	case 0:
		return e.Code == ""
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return slices.Contains([]string{"SlowDown", "RequestTimeout", "OperationAborted", "IncompleteBody", "BadDigest",
		"XAmzContentSHA256Mismatch"}, e.Code)
}

// lost returns the error for a call that got no complete response.
func (b *Bucket) lost(err error) error {
	return &Error{words: fmt.Sprintf("there was no complete response from %s: %s", b.host(), plain(err)),
		kind: ErrUnreachable, cause: err}
}

// plain returns the text of an error without the address that net/http puts before it, which contains the whole
// query.
func plain(err error) string {
	for {
		inner := errors.Unwrap(err)
		if text := err.Error(); inner == nil || !strings.Contains(text, "http") {
			return text
		}
		err = inner
	}
}

func (b *Bucket) host() string {
	_, rest, _ := strings.Cut(b.base, "://")
	host, _, _ := strings.Cut(rest, "/")
	return host
}

// say sets the kind and the text of the error from the service's response.
func (e *Error) say(b *Bucket, c call) {
	switch e.Code {
	case "InvalidAccessKeyId", "InvalidAccessKey", "UnauthorizedAccess":
		e.kind, e.words = ErrKey, fmt.Sprintf("%s rejected the access key %s", b.host(), b.who())
	case "SignatureDoesNotMatch":
		e.kind, e.words = ErrKey, fmt.Sprintf("the secret key does not match the access key %s at %s", b.who(),
			b.host())
	case "RequestTimeTooSkewed", "RequestExpired", "RequestInTheFuture":
		e.kind, e.words = ErrClock,
			fmt.Sprintf(
				"the clock of this machine differs by more than a few minutes from the clock of %s, which therefore "+
					"refused the request",
				b.host(),
			)
	case "NoSuchBucket":
		e.kind, e.words = ErrNoBucket, fmt.Sprintf("%s has no bucket %s", b.host(), b.Bucket)
	case "NoSuchKey":
		e.kind, e.words = store.ErrNotFound, c.key+" is not in the bucket "+b.Bucket
	case "AuthorizationHeaderMalformed", "PermanentRedirect", "TemporaryRedirect", "IllegalLocationConstraintException",
		"InvalidRegionName":
		e.kind, e.words = ErrElsewhere, fmt.Sprintf("the bucket %s is not in the region %s of %s",
			b.Bucket, b.Options.Region, b.host())
		if e.Region != "" {
			e.words += ", but in " + e.Region
		}
	case "IncompleteBody", "BadDigest", "XAmzContentSHA256Mismatch":
		e.kind, e.words = ErrUnreachable, fmt.Sprintf("the data that %s received differs from the data that this "+
			"server sent", b.host())
	case "EntityTooLarge", "QuotaExceeded", "XMinioStorageFull", "NotEnoughSpace", "InsufficientCapacity",
		"StorageFull":
		e.kind, e.words = store.ErrFull, fmt.Sprintf("%s has no space for this object in the bucket "+
			"%s", b.host(), b.Bucket)
	default:
		switch {
		case e.Status == http.StatusForbidden || e.Status == http.StatusUnauthorized:
			e.kind, e.words = ErrDenied, fmt.Sprintf("the access key %s has no permission to %s in the bucket %s",
				b.who(), c.deed(), b.Bucket)
		case e.Status == http.StatusNotFound && c.key != "":
			e.kind, e.words = store.ErrNotFound, c.key+" is not in the bucket "+b.Bucket
		case e.Status == http.StatusInsufficientStorage:
			e.kind, e.words = store.ErrFull, fmt.Sprintf("%s has no space for this object in the bucket "+
				"%s", b.host(), b.Bucket)
		case e.Status >= http.StatusMultipleChoices && e.Status < http.StatusBadRequest:
			e.kind, e.words = ErrElsewhere, fmt.Sprintf("%s redirects requests for the bucket %s to another address",
				b.host(), b.Bucket)
		default:
			e.kind, e.words = ErrUnreachable, fmt.Sprintf("%s cannot %s in the bucket %s", b.host(), c.deed(), b.Bucket)
		}
	}
	e.words += " (" + strings.ToValidUTF8(e.Code[:min(len(e.Code), maxCode)], "") + ")"
}

// maxCode is the maximum number of bytes of the service's error code in an error text.
const maxCode = 64

// who returns the first four characters of the access key, which are enough to recognize it. An operator may have
// swapped the access key and the secret key, so an error text must not contain the whole key.
func (b *Bucket) who() string {
	if len(b.AccessKey) <= 4 {
		return b.AccessKey
	}
	return b.AccessKey[:4] + "…"
}

// deed returns the verb that describes a call in an error text.
func (c *call) deed() string {
	switch {
	case c.method == http.MethodPut:
		return "write"
	case c.method == http.MethodDelete:
		return "delete"
	case c.key == "":
		return "list"
	}
	return "read"
}
