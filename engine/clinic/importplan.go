package clinic

import "encoding/json"

// ImportPlan describes what importing a File would change.
type ImportPlan struct {
	Clinic           string        `json:"clinic,omitempty"` // new, changed or same; empty if the file has no clinic
	Specialists      []ImportEntry `json:"specialists"`
	AppointmentTypes []ImportEntry `json:"appointmentTypes"`
}

// ImportEntry describes the change to one specialist or appointment type.
type ImportEntry struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Change string `json:"change"` // new, changed or same
}

// PlanImport checks a File and compares it with the clinic. It stores nothing. *ValidationError lists every mistake
// in it.
func (cl *Clinic) PlanImport(f File) (ImportPlan, error) {
	s := cl.Current()
	plan := ImportPlan{Specialists: []ImportEntry{}, AppointmentTypes: []ImportEntry{}}
	if f.Clinic != nil {
		given := *f.Clinic // a copy, because rows fills in defaults
		f.Clinic = &given
	}
	said, _ := json.Marshal(f.Clinic) // structs of strings and numbers always marshal
	if _, err := f.rows(&s.Schedule, cl.languages()); err != nil {
		return plan, err
	}
	there := cl.Export()
	known := make(map[string]string)
	for i := range there.Specialists {
		known["specialist "+there.Specialists[i].ID] = inJSON(&there.Specialists[i])
	}
	for i := range there.AppointmentTypes {
		known["type "+there.AppointmentTypes[i].ID] = inJSON(&there.AppointmentTypes[i])
	}
	if f.Clinic != nil {
		known["clinic"] = inJSON(there.Clinic)
		plan.Clinic = changeOf(known, "clinic", string(said))
	}
	for i := range f.Specialists {
		p := &f.Specialists[i]
		plan.Specialists = append(plan.Specialists, ImportEntry{p.ID,
			p.Name, changeOf(known, "specialist "+p.ID, inJSON(p))})
	}
	for i := range f.AppointmentTypes {
		t := &f.AppointmentTypes[i]
		plan.AppointmentTypes = append(plan.AppointmentTypes,
			ImportEntry{t.ID, t.Name, changeOf(known, "type "+t.ID, inJSON(t))})
	}
	return plan, nil
}

func inJSON(v any) string {
	b, _ := json.Marshal(v) // structs of strings and numbers always marshal
	return string(b)
}

func changeOf(known map[string]string, key, said string) string {
	switch before, ok := known[key]; {
	case !ok:
		return "new"
	case before == said:
		return "same"
	}
	return "changed"
}
