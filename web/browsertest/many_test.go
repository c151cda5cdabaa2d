package browsertest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"

	"holdfast/engine/clinic"
)

// many gives the house 40 types and 60 specialists. Every specialist serves ten of the types, so each type has fifteen
// specialists.
func many(f *clinic.File) {
	ada := f.Specialists[0]
	f.Specialists = nil
	for n := range 60 {
		s := ada
		s.ID, s.Name = fmt.Sprintf("specialist-%02d", n), fmt.Sprintf("Dr Specialist Number %d", n)
		f.Specialists = append(f.Specialists, s)
	}
	checkup := f.AppointmentTypes[0]
	f.AppointmentTypes = nil
	for n := range 40 {
		t := checkup
		t.ID, t.Name = fmt.Sprintf("type-%02d", n), fmt.Sprintf("Examination number %d", n)
		t.Description = "What is done, how long it takes, and what to bring along: a sentence or two."
		t.Specialists = nil
		for who := range 60 {
			if who%4 == n%4 {
				t.Specialists = append(t.Specialists,
					clinic.AssignmentEntry{SpecialistID: fmt.Sprintf("specialist-%02d", who), Priority: 10})
			}
		}
		f.AppointmentTypes = append(f.AppointmentTypes, t)
	}
}

// BenchmarkFirstSlotOfMany does the same as BenchmarkFirstSlots, in a clinic with 40 types and 60 specialists. It also
// reports how many requests and bytes the page needs before it shows its first bookable time.
func BenchmarkFirstSlotOfMany(b *testing.B) {
	h := newHouse(b, many)
	p := h.tab(b)
	p.everyDocument(`new MutationObserver((_, o) => {
		if (!document.querySelector('.chip')) return
		o.disconnect()
		requestAnimationFrame(() => { const c = new MessageChannel(); c.port1.onmessage = () => { window.painted = performance.now() }; c.port2.postMessage(0) })
	}).observe(document, { subtree: true, childList: true })`)
	var took []float64
	for b.Loop() {
		p.leave()
		p.do(command(network.ClearBrowserCache, cdp.Empty{}))
		p.requests()
		p.open("/?lang=en&type=type-07")
		p.until("window.painted")
		took = append(took, ask[float64](p, "window.painted"))
	}
	asked, received := p.requests()
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2], "p50-ms")
	b.ReportMetric(took[len(took)*9/10], "p90-ms")
	b.ReportMetric(float64(len(asked)), "requests")
	b.ReportMetric(float64(received), "bytes")
	document := h.call("GET", "/?lang=en", nil)
	b.ReportMetric(float64(len(document.raw)), "document-bytes")
}
