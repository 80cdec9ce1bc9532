/// Polls a condition every 10 ms, and returns whether it comes true within `limit`.
package func eventually(_ limit: Duration = .seconds(15), _ condition: () async -> Bool) async -> Bool {
    let end = ContinuousClock.now + limit
    while ContinuousClock.now < end {
        if await condition() { return true }
        try? await Task.sleep(for: .milliseconds(10))
    }
    return await condition()
}
