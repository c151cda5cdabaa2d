package fhir

// Values of the parameter _summary (https://hl7.org/fhir/R4/search.html#summary).
const (
	Whole       = "false"
	SummaryTrue = "true"
	SummaryText = "text"
	SummaryData = "data"
	JustCount   = "count"
)

// subsetted marks a resource that does not contain all the elements that the server has.
var subsetted = []Coding{{System: "http://terminology.hl7.org/CodeSystem/v3-ObservationValue", Code: "SUBSETTED"}}

// Summary returns the elements of the appointment that the standard marks for a summary. For SummaryText, it returns
// only the required elements. A summary omits the contained patient, so the participant keeps the patient's name.
func (a Appointment) Summary(kind string) Appointment {
	if kind != SummaryTrue && kind != SummaryText {
		return a
	}
	short := Appointment{ResourceType: a.ResourceType, ID: a.ID, Meta: tagged(a.Meta), Status: a.Status, Start: a.Start,
		End: a.End}
	for _, p := range a.Participant {
		p.Actor.Reference = ""
		short.Participant = append(short.Participant, p)
	}
	if kind == SummaryTrue {
		short.Identifier, short.CancelationReason, short.ServiceType = a.Identifier, a.CancelationReason, a.ServiceType
	}
	return short
}

// Summary returns the elements of the slot that the standard marks for a summary. For SummaryText, it returns only the
// required elements.
func (s Slot) Summary(kind string) Slot {
	switch kind {
	case SummaryTrue:
		s.Extension, s.Meta = nil, tagged(s.Meta)
	case SummaryText:
		s.Extension, s.Meta, s.ServiceType = nil, tagged(s.Meta), nil
	}
	return s
}

// Summary returns the whole schedule, because the standard marks all its elements for a summary. For SummaryText, it
// returns only the required elements.
func (s Schedule) Summary(kind string) Schedule {
	switch kind {
	case SummaryTrue:
		s.Meta = tagged(s.Meta)
	case SummaryText:
		s = Schedule{ResourceType: s.ResourceType, ID: s.ID, Meta: tagged(s.Meta), Actor: s.Actor}
	}
	return s
}

func tagged(m *Meta) *Meta {
	var with Meta
	if m != nil {
		with = *m
	}
	with.Tag = subsetted
	return &with
}
