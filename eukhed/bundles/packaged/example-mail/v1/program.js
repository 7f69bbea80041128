// Sorts mails into the folders now, later and never.
//
// ai() asks the provider that config.toml names, with a prompt of this bundle (prompts/sort.md), and what it
// answers must be of the schema. What a run remembers is there for the next one, of whatever version.

const ANSWER = {
  type: "object",
  properties: {
    folder: { enum: ["now", "later", "never"] },
    because: { type: "string" },
  },
  required: ["folder", "because"],
}

function run(input) {
  const sorted = input.mails.map((mail) => {
    const known = recall(mail.from)
    const answer = ai("sort.md", { mail, known }, { schema: ANSWER, effort: "low" })
    log(`${mail.subject}: ${answer.folder}, because ${answer.because}`)
    if (answer.folder === "now" && known.length === 0) {
      remember(`${mail.from} was urgent: ${mail.subject}`)
    }
    return { subject: mail.subject, folder: answer.folder }
  })
  return { sorted }
}
