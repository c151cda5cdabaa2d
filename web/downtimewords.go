package web

import "holdfast/engine/downtime"

// kitTexts are the words of a kit in one language.
type kitTexts struct {
	title, none            string
	heads                  [6]string // of a sheet on paper
	columns                [12]string
	kinds                  map[downtime.Kind]string
	overbooked, newPatient string
	born                   string
	date                   string // how a date of birth is written
	asOf                   string // with {n}, {day}, {time}
}

var kitWords = map[string]*kitTexts{
	"en": {
		title: "Downtime plan", none: "No one works on these days.",
		heads:   [6]string{"Time", "Patient", "Phone", "What", "Room", "Notes"},
		columns: [12]string{"date", "start", "end", "specialist", "kind", "name", "birthDate", "phone", "appointmentType", "room", "place", "notes"},
		kinds:   map[downtime.Kind]string{downtime.Booked: "booked", downtime.Free: "free", downtime.Blocked: "blocked"}, overbooked: "overbooked", newPatient: "new patient",
		born: "born", date: "02/01/2006", asOf: "Appointments: {n}, as of {day}, {time}",
	},
	"de": {
		title: "Plan für den Ausfall", none: "An diesen Tagen arbeitet niemand.",
		heads:   [6]string{"Zeit", "Patient", "Telefon", "Was", "Raum", "Notizen"},
		columns: [12]string{"Datum", "Beginn", "Ende", "Behandler", "Art", "Name", "Geburtsdatum", "Telefon", "Terminart", "Raum", "Standort", "Notizen"},
		kinds:   map[downtime.Kind]string{downtime.Booked: "gebucht", downtime.Free: "frei", downtime.Blocked: "gesperrt"}, overbooked: "zusätzlich", newPatient: "neu hier",
		born: "geb.", date: "02.01.2006", asOf: "Termine: {n}, Stand {day}, {time}",
	},
	"es": {
		title: "Plan para una avería", none: "En estos días no trabaja nadie.",
		heads:   [6]string{"Hora", "Paciente", "Teléfono", "Qué", "Sala", "Notas"},
		columns: [12]string{"fecha", "inicio", "fin", "especialista", "clase", "nombre", "fecha de nacimiento", "teléfono", "tipo de cita", "sala", "sede", "notas"},
		kinds:   map[downtime.Kind]string{downtime.Booked: "reservada", downtime.Free: "libre", downtime.Blocked: "bloqueada"}, overbooked: "adicional", newPatient: "paciente nuevo",
		born: "nac.", date: "02/01/2006", asOf: "Citas: {n}, a {day}, {time}",
	},
}
