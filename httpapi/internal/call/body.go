package call

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"

	"turnlog/httpapi/problem"
	"turnlog/limit"
	"turnlog/wsapi/pack"
)

const typeJSON = "application/json"

// Object reads a request's JSON object, which may be left out when it is optional:
// then both results are nil. Size, nesting and number of elements are bounded before
// anything is decoded. types are media types that are taken besides application/json.
func Object(w http.ResponseWriter, r *http.Request, most int64, optional bool, types ...string) (json.RawMessage, map[string]json.RawMessage, error) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, nil, &problem.Problem{
			Status: http.StatusRequestEntityTooLarge, Code: problem.CodeTooLarge,
			Detail: "a body may have at most " + strconv.FormatInt(large.Limit, 10) + " bytes",
		}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, nil, &problem.Problem{
			Status: http.StatusRequestTimeout, Code: problem.CodeSlowSender, Detail: "the body took too long to arrive", Retryable: true,
		}
	case errors.Is(err, limit.ErrRoom), errors.Is(err, limit.ErrUserRoom):
		return nil, nil, err
	case err != nil:
		return nil, nil, &problem.Problem{Status: http.StatusBadRequest, Code: problem.CodeInvalidRequest, Detail: "the body could not be read to its end"}
	case len(text) == 0 && optional:
		return nil, nil, nil
	}
	if !oneOf(r.Header.Get("Content-Type"), append(types, typeJSON)) {
		return nil, nil, &problem.Problem{
			Status: http.StatusUnsupportedMediaType, Code: problem.CodeUnsupportedMediaType, Detail: "the body must be " + typeJSON,
		}
	}
	if place, ok := r.Body.(limit.Body); ok {
		defer place.Work()()
	}
	if err := pack.CheckJSON(text, pack.Limits{}); err != nil {
		return nil, nil, problem.Invalid("body", sentence(err))
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil || fields == nil {
		return nil, nil, problem.Invalid("body", "must be a JSON object")
	}
	return text, fields, nil
}

// oneOf compares media types without their parameters; JSON is always UTF-8.
func oneOf(contentType string, types []string) bool {
	got, params, err := mime.ParseMediaType(contentType)
	if err != nil || params["charset"] != "" && !strings.EqualFold(params["charset"], "utf-8") {
		return false
	}
	for _, t := range types {
		if got == t {
			return true
		}
	}
	return false
}

// sentence fits pack's errors, which speak of messages, behind the word body.
func sentence(err error) string {
	return strings.TrimPrefix(err.Error(), "the message ")
}
