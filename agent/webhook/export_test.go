package webhook

// Sign signs as the agent does.
func Sign(secret, id, timestamp string, body []byte) string {
	k, err := newKey(secret)
	if err != nil {
		panic(err)
	}
	return k.sign(id, timestamp, body)
}
