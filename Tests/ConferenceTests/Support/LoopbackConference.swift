import Basics
import Foundation
import Logging
import Recording
import TestSupport

@testable import Conference

extension ConferenceConfiguration {
    /// A configuration with a free UDP port of loopback, recordings in `scratch`, and only the built-in layouts.
    static func onLoopback(_ scratch: ScratchDirectory) -> ConferenceConfiguration {
        var settings = ConferenceConfiguration()
        settings.media.udp = [SocketAddress(.v4(0x7F00_0001), port: 0)]
        settings.media.tcp = []
        settings.recording.directory = scratch.path
        settings.layoutsDirectory = scratch.path + "-layouts"
        // A machine that runs other tests too is overloaded, which would refuse rooms and recordings.
        settings.savesWorkWhenOverloaded = false
        // Nor may it lose a seat because a test waits long for the processor.
        (settings.limits.seatWithoutMedia, settings.limits.firstCheck) = (.seconds(3600), .seconds(20))
        return settings
    }
}

/// Runs `body` with a whole conference on loopback, which drains afterwards, also where `body` throws.
///
/// - Parameters:
///   - disk: the recordings' disk; nil: the system's. A disk that hangs continues before the conference drains.
///   - diskTimeout: how long the start of a recording waits for it.
func withConference(
    _ change: (inout ConferenceConfiguration) -> Void = { _ in },
    in scratch: ScratchDirectory = ScratchDirectory(isMade: false),
    disk: TestDisk? = nil,
    diskTimeout: Duration = .seconds(5), _ body: (Conference) async throws -> Void
) async throws {
    var settings = ConferenceConfiguration.onLoopback(scratch)
    change(&settings)
    let conference = try Conference(
        settings, logger: Logger(label: "test"), disk: disk?.disk ?? .system, diskTimeout: diskTimeout)
    try conference.start()
    let outcome: Result<Void, any Error>
    do { outcome = .success(try await body(conference)) } catch { outcome = .failure(error) }
    disk?.unblock()
    await conference.drain(within: .seconds(5))
    try outcome.get()
}
