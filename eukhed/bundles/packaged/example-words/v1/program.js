// Counts the words of input.text, and lists the input.most (5) that come most often.
//
// It uses no model and no tool, so it runs anywhere, at once, and the same input gives the same output.

function run(input) {
  const words = input.text.toLowerCase().match(/[\p{L}\p{N}]+/gu) || []
  const times = new Map()
  for (const word of words) {
    times.set(word, (times.get(word) || 0) + 1)
  }
  const sorted = [...times].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
  log(`${words.length} words, ${times.size} different`)
  return {
    words: words.length,
    different: times.size,
    most: sorted.slice(0, input.most || 5).map(([word, n]) => ({ word, times: n })),
  }
}
