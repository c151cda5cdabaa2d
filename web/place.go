package web

// place reads the id of the place to which the caller restricts a listing. An empty id means all places.
func (s *Server) place(q *query) string {
	id := q.id("place")
	s.checkPlace(&q.mistakes, id)
	return id
}

// checkPlace refuses a place that the clinic does not have.
func (s *Server) checkPlace(m *mistakes, id string) {
	if id != "" && s.engine.Clinic.Current().Place(id) == nil {
		m.add("place", "the clinic has no place with this id; GET /v1/clinic lists them")
	}
}
