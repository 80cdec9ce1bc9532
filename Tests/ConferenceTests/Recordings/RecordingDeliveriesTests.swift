import Basics
import Foundation
import Logging
import TestSupport
import Testing
import Threads

@testable import Conference
@testable import Recording

/// Deliveries and retention of a directory, with programs of the system.
@Suite("Deliveries and retention of recordings", .serialized, .timeLimit(.minutes(1)))
struct RecordingDeliveriesTests {
    private func withControl(
        _ scratch: ScratchDirectory, _ program: [String] = [],
        change: (inout ConferenceConfiguration.Recording) -> Void = { _ in },
        _ body: (RecordingControl, RecordingCatalogue, EventBus) async throws -> Void
    ) async throws {
        var settings = ConferenceConfiguration.Recording()
        settings.directory = scratch.path
        settings.onFinished = program
        change(&settings)
        let (logger, events) = (Logger(label: "test"), EventBus())
        let control = RecordingControl(
            settings, disk: .system, answerTimeout: .seconds(5), logger: logger, events: events, log: RoomLog(logger))
        let catalogue = await control.lane.perform { try? control.readyCatalogue() }
        try await body(control, #require(catalogue), events)
        await control.deliveries.drain()
    }

    /// The boxes of a closed file with nothing in them (ISO/IEC 14496-12 §4.2).
    private static let closedFile =
        Data([0, 0, 0, 8] + "moov".utf8 + [0, 0, 3, 0xE0] + "mdat".utf8) + Data(count: 984)

    /// Makes complete recordings, each with a file; nil: without.
    private func make(
        _ count: Int, in scratch: ScratchDirectory, delivers: Bool = true, file: Data? = closedFile
    ) throws -> [String] {
        let catalogue = try RecordingCatalogue(directory: scratch.path, delivers: delivers)
        return try (0..<count).map { number in
            let entry = try catalogue.begin(room: "r", at: Date() - TimeInterval(3600 * (count - number)))
            let path = catalogue.path(of: entry)
            try file?.write(to: URL(fileURLWithPath: path))
            try catalogue.finish(
                entry.id,
                .success(
                    RecordingSummary(file: path, files: [path], duration: .seconds(1), bytes: 1000, tracks: ["h264"])))
            return entry.id
        }
    }

    private func told(_ events: EventBus, _ kind: ServerEvent.Kind) -> [RecordingDelivery] {
        events.page(after: 0, limit: 100).events.compactMap { shared in
            guard shared.event.happening.kind == kind else { return nil }
            switch shared.event.happening {
            case .recordingDelivered(let info), .recordingDeliveryFailed(let info): return info.delivery
            default: return nil
            }
        }
    }

    @Test("what waits in the directory is delivered in order, one at a time")
    func order() async throws {
        let scratch = ScratchDirectory(), notes = ScratchDirectory()
        let ids = try make(3, in: scratch)
        let script = "echo begin $TESSERA_ID >> \"$1\"; sleep 0.1; echo end $TESSERA_ID >> \"$1\"; echo at:$TESSERA_ID"
        try await withControl(scratch, ["sh", "-c", script, "sh", notes.file("n")]) { control, catalogue, events in
            #expect(await eventually { ids.allSatisfy { catalogue.entry($0)?.delivery?.state == .delivered } })
            #expect(catalogue.entry(ids[1])?.delivery?.location == "at:\(ids[1])")
            let lines = try String(contentsOfFile: notes.file("n"), encoding: .utf8).split(separator: "\n")
            #expect(lines.map(String.init) == ids.flatMap { ["begin \($0)", "end \($0)"] })
            #expect(await eventually { told(events, .recordingDelivered).count == 3 })
            #expect(await eventually { control.deliveries.waiting == 0 })
            #expect(control.deliveries.results[.delivered] == 3)
        }
        #expect(!scratch.files.contains { $0.hasSuffix(".pending") })
    }

    @Test("a program that does not exist is a failed run, which is repeated; without retries it is given up")
    func missingProgram() async throws {
        for retries in [true, false] {
            let scratch = ScratchDirectory()
            let id = try make(1, in: scratch)[0]
            try await withControl(scratch, ["/nonexistent/program"], change: { if !retries { $0.retryFor = .zero } }) {
                control, catalogue, events in
                let wanted = retries ? RecordingDelivery.State.pending : .failed
                #expect(await eventually { !told(events, .recordingDeliveryFailed).isEmpty })
                let delivery = try #require(catalogue.entry(id)?.delivery)
                #expect(delivery.state == wanted && delivery.attempts == 1 && delivery.process == nil)
                #expect(delivery.message?.contains("/nonexistent/program cannot be started") ?? false)
                #expect(delivery.message?.contains("recording.onFinished") ?? false)
                #expect(control.deliveries.results[retries ? .retried : .failed] == 1)
            }
            #expect(scratch.files.contains("\(id).pending") == retries)
        }
    }

    @Test("a recording whose files are gone is given up without a run")
    func goneFiles() async throws {
        let scratch = ScratchDirectory()
        let id = try make(1, in: scratch, file: nil)[0]
        try await withControl(scratch, ["true"]) { _, catalogue, events in
            #expect(await eventually { told(events, .recordingDeliveryFailed).count == 1 })
            let delivery = catalogue.entry(id)?.delivery
            #expect(delivery?.state == .failed && delivery?.attempts == 0 && delivery?.message == "its files are gone")
        }
    }

    @Test("without a program nothing is delivered, and what waits keeps waiting")
    func off() async throws {
        let scratch = ScratchDirectory()
        let id = try make(1, in: scratch)[0]
        try await withControl(scratch) { control, catalogue, _ in
            #expect(!control.deliveries.isOn && control.deliveries.waiting == 0)
            #expect(catalogue.entry(id)?.delivery?.state == .pending)
        }
        #expect(scratch.files.contains("\(id).pending"))
    }

    private func removed(_ events: EventBus) -> [String] {
        events.page(after: 0, limit: 100).events.compactMap { shared in
            guard case .recordingRemoved(let info, let reason) = shared.event.happening else { return nil }
            return "\(info.id) \(reason)"
        }
    }

    @Test("old recordings are removed with all their files, and an event tells of each")
    func retention() async throws {
        let scratch = ScratchDirectory()
        let ids = try make(3, in: scratch, delivers: false)
        try Data(count: 5).write(to: URL(fileURLWithPath: scratch.file(ids[0] + ".vtt")))
        try await withControl(scratch, change: { $0.keep = .seconds(2 * 3600 + 1800) }) { control, catalogue, events in
            #expect(await look(control) { removed(events) == ["\(ids[0]) age"] })
            #expect(catalogue.count == 2)
        }
        #expect(scratch.files.allSatisfy { $0.hasPrefix(ids[1]) || $0.hasPrefix(ids[2]) } && scratch.files.count == 4)
        try await withControl(scratch, change: { $0.maxBytes = 10 }) { control, catalogue, events in
            #expect(await look(control) { removed(events) == ["\(ids[1]) size"] })
            #expect(catalogue.list().map(\.id) == [ids[2]])
        }
    }

    /// Looks for old recordings again and again, as the server does.
    private func look(_ control: RecordingControl, until isDone: () -> Bool) async -> Bool {
        await eventually {
            control.removeOld()
            return isDone()
        }
    }

    /// Removes a recording as `DELETE` does; returns the last step.
    private func remove(_ id: String, _ control: RecordingControl) async -> (steps: Int, last: RetentionControl.Step?) {
        for steps in 1... {
            let step = try? await control.lane.run { control.remove(id) }
            if case .again = step { continue }
            return (steps, step)
        }
        return (0, nil)
    }

    @Test("one recording is removed on request, with all its files, and no other")
    func onRequest() async throws {
        let scratch = ScratchDirectory()
        let ids = try make(2, in: scratch)
        try Data(count: 5).write(to: URL(fileURLWithPath: scratch.file(ids[0] + ".vtt")))
        try await withControl(scratch) { control, catalogue, events in
            #expect(await eventually { control.repairsWaiting == 0 })
            let (steps, last) = await remove(ids[0], control)
            guard case .done = last else { return #expect(Bool(false), "\(String(describing: last))") }
            #expect(steps == 1 && removed(events) == ["\(ids[0]) request"] && catalogue.list().map(\.id) == [ids[1]])
            let again = await remove(ids[0], control).last
            guard case .unknown = again else { return #expect(Bool(false), "\(String(describing: again))") }
            for id in ["", "..", "../\(ids[1])", "\(ids[1]).mp4"] {
                let strange = await remove(id, control).last
                guard case .unknown = strange else { return #expect(Bool(false), "\(id)") }
            }
            #expect(control.retentionSamples.contains { $0.labels == ["reason": "request"] && $0.value == 1 })
        }
        #expect(scratch.files.allSatisfy { $0.hasPrefix(ids[1]) } && scratch.files.contains(ids[1] + ".mp4"))
    }

    @Test("a recording is not removed on request while it is delivered, and then it is; one that waits is at once")
    func requestWhileDelivered() async throws {
        let scratch = ScratchDirectory()
        let ids = try make(2, in: scratch)
        let gate = scratch.file("gate")
        let program = ["sh", "-c", "touch \(gate).begun; while [ ! -e \(gate) ]; do sleep 0.02; done"]
        try await withControl(scratch, program) { control, catalogue, events in
            #expect(await eventually { catalogue.entry(ids[0])?.delivery?.state == .running })
            guard case .busy = await remove(ids[0], control).last else { return #expect(Bool(false)) }
            guard case .done = await remove(ids[1], control).last else { return #expect(Bool(false)) }
            try Data().write(to: URL(fileURLWithPath: gate))
            #expect(await eventually { control.deliveries.results[.delivered] == 1 && control.deliveries.waiting == 0 })
            guard case .done = await remove(ids[0], control).last else { return #expect(Bool(false)) }
            #expect(removed(events) == ["\(ids[1]) request", "\(ids[0]) request"] && catalogue.count == 0)
        }
        #expect(scratch.files.allSatisfy { $0.hasPrefix("gate") }, "\(scratch.files)")
    }

    @Test("what is still to be repaired is removed after its repair, and nothing comes back")
    func repairedFirst() async throws {
        let scratch = ScratchDirectory()
        let ids = try make(20, in: scratch, delivers: false, file: Data(count: 1000))
        try await withControl(scratch, change: { $0.keep = .seconds(1800) }) { control, catalogue, events in
            #expect(await look(control) { removed(events).count == ids.count })
            #expect(catalogue.count == 0 && control.repairsWaiting == 0)
        }
        #expect(scratch.files.isEmpty)
    }

    @Test("a recording that cannot be removed stays, and holds up no other")
    func stuck() async throws {
        let scratch = ScratchDirectory()
        let ids = try make(2, in: scratch, delivers: false)
        // A directory, which unlink(2) refuses.
        let obstacle = scratch.file(ids[0] + ".vtt")
        try FileManager.default.createDirectory(atPath: obstacle, withIntermediateDirectories: false)
        try await withControl(scratch, change: { $0.keep = .seconds(1800) }) { control, catalogue, events in
            #expect(await look(control) { removed(events) == ["\(ids[1]) age"] })
            #expect(catalogue.list().map(\.id) == [ids[0]])
            try FileManager.default.removeItem(atPath: obstacle)
            #expect(await look(control) { catalogue.count == 0 })
        }
        #expect(scratch.files.isEmpty)
    }

    @Test("with a program only what it has taken is removed")
    func undelivered() async throws {
        let scratch = ScratchDirectory()
        let ids = try make(2, in: scratch)
        let script = "test \(ids[1]) = $TESSERA_ID"
        try await withControl(
            scratch, ["sh", "-c", script], change: { ($0.keep, $0.retryFor) = (.seconds(1800), .zero) }
        ) { control, catalogue, events in
            #expect(await eventually { catalogue.entry(ids[1])?.delivery?.state == .delivered })
            #expect(await look(control) { removed(events) == ["\(ids[1]) age"] })
            #expect(
                await eventually {
                    control.retentionSamples.contains {
                        $0.name == "tessera_recordings_kept_undelivered" && $0.value == 1
                    }
                })
            #expect(catalogue.list().map(\.id) == [ids[0]])
        }
    }
}
