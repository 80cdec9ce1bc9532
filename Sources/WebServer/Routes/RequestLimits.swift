package import Basics
import HTTPTypes
import Threads

/// The limits of one address's HTTP requests.
package final class RequestLimits: Sendable {
    /// Snapshots a second for one address. One costs some ten milliseconds of a core; a display of four rooms that is
    /// renewed every other second stays below.
    private static let snapshotRate = 2.0
    private static let snapshotBurst = 10.0

    /// Requests of one address to any route; further ones wait for their turn. Thirty pages that open behind one
    /// address at the same time request three hundred files.
    private static let paceRate = 500.0
    private static let paceBurst = 1000.0

    private let pace: BucketTable<IPAddress>
    private let requests: BucketTable<IPAddress>
    private let snapshots: BucketTable<IPAddress>

    /// - Parameter requestsPerSecond: of one address, with a burst of four times as many.
    package init(requestsPerSecond: Int, at now: Instant) {
        pace = BucketTable(rate: RequestLimits.paceRate, burst: RequestLimits.paceBurst, at: now)
        let rate = Double(requestsPerSecond)
        requests = BucketTable(rate: rate, burst: rate * 4, at: now)
        snapshots = BucketTable(rate: RequestLimits.snapshotRate, burst: RequestLimits.snapshotBurst, at: now)
    }

    /// Returns how long the next request of an address has to wait for its turn.
    package func turn(_ address: IPAddress?, at now: Instant) -> Duration {
        pace.queue(address?.clientPrefix ?? .v4(0), maximumWait: .seconds(60), at: now).wait
    }

    /// - Throws: 429 with the time to wait. Pages, health checks, the media of streams and requests with the admin token do not count: a page
    ///   is many files, which are cheap.
    package func check(_ route: Route, _ asked: RouteRequest, hasAdminToken: Bool) throws(APIError) {
        guard route.access != .everyone, !route.isStream, !hasAdminToken else { return }
        try check(requests, asked, "too many requests from this address (limits.requestsPerSecondPerAddress)")
    }

    /// - Throws: 429 with the time to wait.
    package func checkSnapshot(_ asked: RouteRequest) throws(APIError) {
        try check(snapshots, asked, "at most \(Int(RequestLimits.snapshotRate)) pictures a second for one address")
    }

    private func check(_ table: BucketTable<IPAddress>, _ asked: RouteRequest, _ words: String) throws(APIError) {
        let wait = table.take(asked.source.client?.clientPrefix ?? .v4(0), at: MonotonicClock.now())
        if wait > .zero { throw APIError(Refusal(.tooFast, words, retryAfter: wait)) }
    }
}
