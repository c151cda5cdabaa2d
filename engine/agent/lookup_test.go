package agent_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/agent"
	"holdfast/engine/enginetest"
	"holdfast/engine/practice"
	"holdfast/engine/upstream/upstreamtest"
)

// These tests look up patients in the practice-management system who have never had a booking in Holdfast.

// procedures counts the calls to each procedure.
func procedures(p *enginetest.TestPractice) map[string]int {
	n := map[string]int{}
	for _, c := range p.Upstream.Calls() {
		n[c.Procedure]++
	}
	return n
}

// charts contains patients that the front desk has added in the practice-management system: Jane and her cousin of the
// same name; two patients with the same name, date of birth and number; and one without an email address.
var charts = []upstreamtest.Patient{
	{GUID: enginetest.PatientGUID(1), FirstName: "Jane Marie", LastName: "Canary-Roe", BirthDate: "1980-02-03", Phone: "(555) 010-0123", Email: "jane@example.org"},
	{GUID: enginetest.PatientGUID(2), FirstName: "Jane", LastName: "Canary-Roe", BirthDate: "1999-09-09", Phone: "(555) 010-0199"},
	{GUID: enginetest.PatientGUID(3), FirstName: "Alex", LastName: "Canary-Twin", BirthDate: "1991-01-01", Phone: "555 010 0777", Email: "one@example.org"},
	{GUID: enginetest.PatientGUID(4), FirstName: "Alex", LastName: "Canary-Twin", BirthDate: "1991-01-01", Phone: "555 010 0777", Email: "two@example.org"},
	{GUID: enginetest.PatientGUID(5), FirstName: "Noor", LastName: "Canary-Quiet", BirthDate: "1970-07-07", Phone: "555 010 0555"},
}

func withCharts(t *testing.T, o upstreamtest.Options) *enginetest.TestPractice {
	p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &o})
	for _, c := range charts {
		p.Upstream.AddPatient(c)
	}
	return p
}

// TestExistingChartIsFound: a patient with a chart in the practice-management system gets no second one. The agent
// asks if the match is not clear, and names no patient.
func TestExistingChartIsFound(t *testing.T) {
	t.Parallel()
	jane := agent.Patient{FirstName: "Jane", LastName: "Canary-Roe", BirthDate: "1980-02-03", Phone: "+1 555 010 0123"}
	twin := agent.Patient{FirstName: "alex", LastName: "canary-twin", BirthDate: "01/01/1991", Phone: "5550100777"}
	with := func(p agent.Patient, edit func(*agent.Patient)) agent.Patient { edit(&p); return p }
	for name, c := range map[string]struct {
		said  agent.Patient
		guid  string // GUID of the record that was found; empty if the patient is added or the agent asks a question
		asked string // the action of the guidance
	}{
		"by name, date and number":              {said: jane, guid: enginetest.PatientGUID(1)},
		"without the date":                      {said: with(jane, func(p *agent.Patient) { p.BirthDate = "" }), asked: "ask_for_birth_date"},
		"without the number":                    {said: with(jane, func(p *agent.Patient) { p.Phone = "" }), asked: "ask_for_phone"},
		"with another number and the address":   {said: with(jane, func(p *agent.Patient) { p.Phone, p.Email = "5559999999", "JANE@example.org" }), guid: enginetest.PatientGUID(1)},
		"with another number":                   {said: with(jane, func(p *agent.Patient) { p.Phone = "5559999999" }), asked: "ask_for_email"},
		"with another number and address":       {said: with(jane, func(p *agent.Patient) { p.Phone, p.Email = "5559999999", "x@example.org" })},
		"with another date":                     {said: with(jane, func(p *agent.Patient) { p.BirthDate = "1981-02-03" })},
		"the cousin's name and date":            {said: with(jane, func(p *agent.Patient) { p.BirthDate, p.Phone = "1999-09-09", "555 0100199" }), guid: enginetest.PatientGUID(2)},
		"with another first name":               {said: with(jane, func(p *agent.Patient) { p.FirstName = "Janet" })},
		"one of two":                            {said: twin, asked: "ask_for_email"},
		"the second of two":                     {said: with(twin, func(p *agent.Patient) { p.Email = "two@example.org" }), guid: enginetest.PatientGUID(4)},
		"a third of two":                        {said: with(twin, func(p *agent.Patient) { p.Email = "three@example.org" }), asked: "hand_over_to_person"},
		"another number, and no address to ask": {said: agent.Patient{FirstName: "Noor", LastName: "Canary-Quiet", BirthDate: "1970-07-07", Phone: "5551112222"}},
		"neither date nor number":               {said: agent.Patient{FirstName: "Jane", LastName: "Canary-Roe"}},
		"a GUID with its date":                  {said: agent.Patient{PatientGUID: strings.ToUpper(enginetest.PatientGUID(5)), BirthDate: "1970-07-07"}, guid: enginetest.PatientGUID(5)},
		"a GUID with another date":              {said: agent.Patient{PatientGUID: enginetest.PatientGUID(5), BirthDate: "1970-07-08"}, asked: "ask_for_name_birth_date_and_phone"},
		"an unknown GUID":                       {said: agent.Patient{PatientGUID: enginetest.PatientGUID(99), BirthDate: "1970-07-07"}, asked: "ask_for_name_birth_date_and_phone"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := withCharts(t, upstreamtest.Options{})
				a, err := p.Agent.Identify(t.Context(), enginetest.AgentKey, c.said)
				if err != nil {
					t.Fatal(err)
				}
				added := procedures(p)["SetPatient"]
				switch {
				case c.asked != "":
					if a.Success || a.Guidance.Action != c.asked || added != 0 || a.BookingAuthToken != "" {
						t.Errorf("got %+v with %d added, want the action %s", a, added, c.asked)
					}
				case c.guid != "":
					if !a.Success || a.PatientGUID != c.guid || added != 0 {
						t.Errorf("got %+v with %d added, want %s", a, added, c.guid)
					}
				default:
					if !a.Success || added != 1 {
						t.Errorf("got %+v with %d added, want a new patient", a, added)
					}
				}
				if said, _ := json.Marshal([]any{a.Guidance, a.Message}); strings.Contains(string(said), "Canary") || strings.Contains(string(said), "@") {
					t.Errorf("the answer contains a name: %s", said)
				}
				if strings.Contains(p.Log.String(), "Canary") {
					t.Errorf("the log contains a patient's name: %s", p.Log.String())
				}
				if a.Success { // the token is valid for the patient that was found
					b := p.Wish(20)
					b.PatientGUID, b.BookingAuthToken = a.PatientGUID, a.BookingAuthToken
					if booked := p.Ask(b); booked.Outcome != agent.Confirmed {
						t.Errorf("booking: got %+v", booked)
					}
				}
			})
		})
	}
}

// TestPatientIsAddedWithoutLookup: if the look-up fails, the patient is added within the time limit, as if there were
// no look-up. If the vendor lacks the procedure, the server does not call it again right away.
func TestPatientIsAddedWithoutLookup(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options upstreamtest.Options
		asked   int // number of look-ups for two patients a minute apart
	}{
		"the vendor has no such procedure": {upstreamtest.Options{NoLookup: true}, 1},
		"it takes no questions for now":    {upstreamtest.Options{Decide: lookups(upstreamtest.RateLimited, 0)}, 2},
		"it hangs":                         {upstreamtest.Options{Decide: lookups(upstreamtest.Slow, time.Minute)}, 2},
		"it is cut off":                    {upstreamtest.Options{Decide: lookups(upstreamtest.LostNotApplied, 0)}, 2},
		"it talks nonsense":                {upstreamtest.Options{Decide: lookups(upstreamtest.Garbage, 0)}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := withCharts(t, c.options)
				for n, first := range []string{"Jane", "Joan"} {
					began := time.Now()
					a, err := p.Agent.Identify(t.Context(), enginetest.AgentKey, agent.Patient{FirstName: first, LastName: "Canary-Roe", BirthDate: "1980-02-03", Phone: "5550100123"})
					if err != nil || !a.Success || procedures(p)["SetPatient"] != n+1 {
						t.Errorf("%s: got %+v, %v; want a new patient", first, a, err)
					}
					if took := time.Since(began); took > practice.DefaultAgentBound {
						t.Errorf("%s: it took %v, more than the bound", first, took)
					}
					time.Sleep(time.Minute)
				}
				if n := procedures(p)["GetPortalPatientLookup"]; n != c.asked {
					t.Errorf("the practice system received %d requests, want %d", n, c.asked)
				}
			})
		})
	}
}

// lookups returns a decision function that gives look-ups this outcome after this delay. All other calls succeed.
func lookups(outcome upstreamtest.Outcome, delay time.Duration) func(upstreamtest.Call) upstreamtest.Step {
	return func(c upstreamtest.Call) upstreamtest.Step {
		if c.Procedure == "GetPortalPatientLookup" || c.Procedure == "GetPatientInformation" {
			return upstreamtest.Step{Outcome: outcome, Delay: delay}
		}
		return upstreamtest.Step{}
	}
}

// TestLookupsArePaced: during a burst of callers, the server makes one look-up per second. If a caller would have to
// wait too long, the server adds the patient without a look-up.
func TestLookupsArePaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := withCharts(t, upstreamtest.Options{})
		var all sync.WaitGroup
		for n := range 12 {
			all.Go(func() {
				who := agent.Patient{FirstName: "Caller", LastName: "Canary" + string(rune('a'+n)), BirthDate: "1980-02-03", Phone: "5550100123"}
				if a, err := p.Agent.Identify(t.Context(), enginetest.AgentKey, who); err != nil || !a.Success {
					t.Errorf("got %+v, %v", a, err)
				}
			})
		}
		all.Wait()
		var last time.Time
		asked := 0
		for _, c := range p.Upstream.Calls() {
			if c.Procedure != "GetPortalPatientLookup" {
				continue
			}
			if gap := c.At.Sub(last); asked > 0 && gap < time.Second {
				t.Errorf("two look-ups were %v apart, want at least one second", gap)
			}
			last, asked = c.At, asked+1
		}
		if asked < 5 || asked > 8 || procedures(p)["SetPatient"] != 12 {
			t.Errorf("got %d look-ups and %d patients added, want about six (half of the bound) and twelve", asked, procedures(p)["SetPatient"])
		}
	})
}
