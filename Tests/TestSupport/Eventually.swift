/// Polls a condition, after 1 ms and then more rarely up to every 10 ms, and returns whether it comes true within
/// `limit`, or four times that under a sanitizer, with which a machine is too busy for calls in real time.
package func eventually(_ limit: Duration = .seconds(45), _ condition: () async -> Bool) async -> Bool {
    let end = ContinuousClock.now + limit * (isSanitized ? 4 : 1)
    var pause = Duration.milliseconds(1)
    while ContinuousClock.now < end {
        if await condition() { return true }
        try? await Task.sleep(for: pause)
        pause = min(pause * 2, .milliseconds(10))
    }
    return await condition()
}
