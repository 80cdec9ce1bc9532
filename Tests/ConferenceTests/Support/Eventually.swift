/// Returns whether a condition becomes true within a time.
func eventually(_ limit: Duration = .seconds(15), _ condition: () async -> Bool) async -> Bool {
    let end = ContinuousClock.now + limit
    while ContinuousClock.now < end {
        if await condition() { return true }
        try? await Task.sleep(for: .milliseconds(10))
    }
    return await condition()
}
