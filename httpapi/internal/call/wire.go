package call

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"time"

	"turnlog/httpapi/problem"
)

// Query reads a whole number from the query: absent or empty is what otherwise says.
func Query(r *http.Request, name string, least, most, otherwise int64) (int64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		why := "must be a whole number of at least " + strconv.FormatInt(least, 10)
		if most != math.MaxInt64 {
			why = "must be a whole number between " + strconv.FormatInt(least, 10) + " and " + strconv.FormatInt(most, 10)
		}
		return 0, problem.Invalid(name, why)
	}
	return n, nil
}

// Moment is a time on the wire, nil when there is none.
func Moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// Reply answers with JSON.
func Reply(w http.ResponseWriter, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // the client went away; nobody is left to tell
	return nil
}
