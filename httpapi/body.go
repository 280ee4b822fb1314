package httpapi

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
	"turnlog/wsapi/pack"
)

// Media types of bodies.
const (
	typeJSON       = "application/json"
	typeMergePatch = "application/merge-patch+json"
)

// body reads a request's JSON object, which may be left out when it is optional.
// Size, nesting and number of elements are bounded before anything is decoded.
func (a *API) body(w http.ResponseWriter, r *http.Request, optional bool, types ...string) (form, error) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, a.opts.InboundBytes))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return form{}, &problem.Problem{
			Status: http.StatusRequestEntityTooLarge, Code: problem.CodeTooLarge,
			Detail: "a body may have at most " + strconv.FormatInt(large.Limit, 10) + " bytes",
		}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return form{}, &problem.Problem{
			Status: http.StatusRequestTimeout, Code: problem.CodeSlowSender, Detail: "the body took too long to arrive", Retryable: true,
		}
	case err != nil:
		return form{}, &problem.Problem{Status: http.StatusBadRequest, Code: problem.CodeInvalidRequest, Detail: "the body could not be read to its end"}
	case len(text) == 0 && optional:
		return form{}, nil
	}
	if !oneOf(r.Header.Get("Content-Type"), append(types, typeJSON)) {
		return form{}, &problem.Problem{
			Status: http.StatusUnsupportedMediaType, Code: problem.CodeUnsupportedMediaType, Detail: "the body must be " + typeJSON,
		}
	}
	if err := pack.CheckJSON(text, pack.Limits{}); err != nil {
		return form{}, problem.Invalid("body", sentence(err))
	}
	f := form{text: text}
	if json.Unmarshal(text, &f.fields) != nil || f.fields == nil {
		return form{}, problem.Invalid("body", "must be a JSON object")
	}
	return f, nil
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
