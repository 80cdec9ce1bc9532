import Basics
import Foundation
import Logging
import Recording

@testable import Conference

/// A folder of a test's own, which goes with it.
final class Scratch: Sendable {
    let path = NSTemporaryDirectory() + "tessera-" + SeatService.token(8)
    deinit { try? FileManager.default.removeItem(atPath: path) }
    var files: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
}

extension ConferenceConfiguration {
    /// A free UDP port of loopback; recordings go to `scratch`, and there are no layouts but those that are built in.
    static func onLoopback(_ scratch: Scratch) -> ConferenceConfiguration {
        var settings = ConferenceConfiguration()
        settings.media.udp = [SocketAddress(.v4(0x7F00_0001), port: 0)]
        settings.media.tcp = []
        settings.recording.directory = scratch.path
        settings.layoutsDirectory = scratch.path + "-layouts"
        return settings
    }
}

/// Lends `body` a whole conference on loopback, which drains afterwards, also where `body` throws.
///
/// - Parameters:
///   - disk: of the recordings; nil: the system's. It goes on before the conference drains.
///   - diskPatience: how long the start of a recording waits for it.
func withConference(
    _ change: (inout ConferenceConfiguration) -> Void = { _ in }, in scratch: Scratch = Scratch(),
    disk: TestDisk? = nil,
    diskPatience: Duration = .seconds(5), _ body: (Conference) async throws -> Void
) async throws {
    var settings = ConferenceConfiguration.onLoopback(scratch)
    change(&settings)
    let conference = try Conference(
        settings, logger: Logger(label: "test"), disk: disk?.disk ?? .system, diskPatience: diskPatience)
    try conference.start()
    let outcome: Result<Void, any Error>
    do { outcome = .success(try await body(conference)) } catch { outcome = .failure(error) }
    disk?.unblock()
    await conference.drain(within: .seconds(5))
    try outcome.get()
}
