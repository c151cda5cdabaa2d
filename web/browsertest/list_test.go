package browsertest

import (
	"testing"

	"holdfast/store"
)

// TestListSortsByHead: a click on a column's head sorts the list by that column, and a second click reverses the order.
func TestListSortsByHead(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	p.appointment("Per Lind", "ada", "10:00")
	p.appointment("Lena Vogt", "karim", "11:00")
	p.open("/staff?lang=en#list/" + h.date)
	order := func(first string) {
		t.Helper()
		p.until(`document.querySelectorAll('.tbl tbody tr').length === 2 && document.querySelector('.tbl tbody tr').innerText.includes(` + quoted(first) + `)`)
	}
	order("Per Lind")
	p.click(".tbl thead th:nth-child(2) button")
	order("Lena Vogt")
	p.there(".tbl th[aria-sort=ascending]")
	p.click(".tbl thead th:nth-child(2) button")
	order("Per Lind")
	p.there(".tbl th[aria-sort=descending]")
	p.accessible("a list that is sorted by patient")
}
