import Basics
import HTTPTypes

/// How much one address may ask over HTTP.
final class RequestLimits: Sendable {
    /// Pictures of a room as PNG, of one address. One costs some ten milliseconds of a core; a wall of four rooms that is renewed every
    /// other second stays below.
    private static let snapshotRate = 2.0
    private static let snapshotBurst = 10.0

    private let requests: BucketTable<IPAddress>
    private let snapshots: BucketTable<IPAddress>

    init(_ limits: TesseraConfiguration.Limits, at now: Instant) {
        let rate = Double(limits.requestsPerSecondPerAddress)
        requests = BucketTable(rate: rate, burst: rate * 4, at: now)
        snapshots = BucketTable(rate: RequestLimits.snapshotRate, burst: RequestLimits.snapshotBurst, at: now)
    }

    /// - Throws: 429 with the time to wait. Pages, health checks and the admin token's requests are not counted: a page is many files, which
    ///   cost next to nothing.
    func check(_ route: Route, _ asked: RouteRequest, hasAdminToken: Bool) throws(APIError) {
        guard route.access != .everyone, !hasAdminToken else { return }
        try check(requests, asked, "too many requests from this address (limits.requestsPerSecondPerAddress)")
    }

    /// - Throws: 429 with the time to wait.
    func checkSnapshot(_ asked: RouteRequest) throws(APIError) {
        try check(snapshots, asked, "at most \(Int(RequestLimits.snapshotRate)) pictures a second for one address")
    }

    private func check(_ table: BucketTable<IPAddress>, _ asked: RouteRequest, _ words: String) throws(APIError) {
        let wait = table.take(asked.source.client?.clientPrefix ?? .v4(0), at: Gateway.now())
        if wait > .zero { throw APIError(ServiceError("too_fast", words, retryAfter: wait)) }
    }
}
