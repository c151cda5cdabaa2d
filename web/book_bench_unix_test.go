//go:build unix

package web_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/notice"
	"holdfast/engine/notice/noticetest"
	"holdfast/store/bolt"
)

// BenchmarkBookCPU measures the user and system processor time of a booking over 32 connections, including that of the
// client and the mail server. With an email, it waits until the mail server has accepted the confirmation of every
// booking.
//
//	go test ./web -run '^$' -bench BookCPU -benchtime 4000x
func BenchmarkBookCPU(b *testing.B) {
	for _, email := range []bool{false, true} {
		b.Run(fmt.Sprintf("email=%t", email), func(b *testing.B) {
			var accepted atomic.Int64
			server, start := benchHouseWith(b, 100, benchStore(b), func(o *engine.Options) {
				if email {
					sendBenchEmails(b, o, &accepted)
				}
			}), benchMonday()
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32, DisableCompression: true}}
			defer client.CloseIdleConnections()
			book := asked{bookAt(b, server, start), http.StatusCreated}
			const warm = 500 // so that the outbox holds later reminders, as in a clinic that is in use
			hammer(b, client, 32, book, 1, warm)
			await(b, email, &accepted, warm)
			before := processorTime(b)
			b.ResetTimer()
			took := hammer(b, client, 32, book, 1+warm, int64(b.N))
			await(b, email, &accepted, warm+int64(b.N))
			b.StopTimer()
			b.ReportMetric(float64((processorTime(b)-before).Microseconds())/float64(b.N), "cpu-µs/booking")
			// until the last response, not until the last email
			b.ReportMetric(float64(b.N)/took.Seconds(), "bookings/s")
		})
	}
}

// sendBenchEmails gives an engine a queue and a mail server that counts the recipients that it accepts.
func sendBenchEmails(b *testing.B, o *engine.Options, accepted *atomic.Int64) {
	b.Helper()
	queue, err := bolt.Open(context.Background(), bolt.Options{Path: filepath.Join(b.TempDir(), "queue.bolt")})
	if err != nil {
		b.Fatal(err)
	}
	address := noticetest.MailServer(b, func(string) string {
		accepted.Add(1)
		return "250 ok"
	})
	mailer, err := notice.NewMailer(notice.MailOptions{URL: "smtp://" + address})
	if err != nil {
		b.Fatal(err)
	}
	o.Queue, o.Notices.Mailer, o.Notices.From = queue, mailer, "post@clinic.example"
	b.Cleanup(func() {
		if err := queue.Close(); err != nil {
			b.Error(err)
		}
	})
}

// await waits until the mail server has accepted count emails.
func await(b *testing.B, email bool, accepted *atomic.Int64, count int64) {
	for deadline := time.Now().Add(5 * time.Minute); email && accepted.Load() < count; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			b.Fatalf("the mail server accepted %d emails of %d", accepted.Load(), count)
		}
	}
}

// processorTime returns the user and system time of this process.
func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
