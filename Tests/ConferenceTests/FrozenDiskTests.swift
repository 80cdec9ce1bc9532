import Basics
import TestSupport
import Testing
import Threads

@testable import Conference

@Suite("A disk that does not answer")
struct FrozenDiskTests {
    private typealias Gate = ConferencePulseTests.Gate

    static let folders = ["layouts", "avatars", "pictures", "recordings", "thumbnails", "rooms"]

    private let layout = Array(
        #"{"name": "mine", "description": "all", "rules": [{"regions": [{"kind": "grid"}]}]}"#.utf8)

    /// Asks for what needs the folder; nil: nothing that clients ask for does.
    private func ask(_ folder: String, _ conference: Conference) async -> ConferenceError? {
        do throws(ConferenceError) {
            switch folder {
            case "layouts": try await conference.layouts.put("mine", json: layout)
            case "avatars": _ = try await conference.avatars.file("ann")
            case "pictures":
                let picture = Array("GIF89a".utf8) + [UInt8](repeating: 0, count: 20)
                _ = try await conference.pictures.store(picture, from: nil, isSent: true)
            case "recordings": _ = try await conference.recordings.start("r")
            default: break
            }
            return nil
        } catch {
            return error
        }
    }

    @Test("of one folder it stops nothing but what needs that folder, and not the server's end", arguments: folders)
    func frozen(_ folder: String) async throws {
        let gate = Gate()
        let scratch = ScratchDirectory()
        try await withConference(
            {
                $0.roomsFile = scratch.path + "/rooms.json"
                $0.layoutsDirectory = scratch.path + "/layouts"
            }, in: scratch, diskTimeout: .milliseconds(50)
        ) { conference in
            let lane = try #require(conference.disks.lane(folder))
            lane.submit { gate.wait() }
            // The polls of the layouts, the expiry of pictures and the writing of the rooms come again and again.
            for second in 0..<200 {
                let now = MonotonicClock.now() + .seconds(second)
                conference.control.post { conference.runHousekeeping(at: now) }
            }
            let ann = try conference.join(AdmittedJoin(room: "r", name: "Ann")) { _ in }
            try ann.setLayout("speaker", scope: .room)
            conference.layouts.share("shared", json: layout)
            await conference.layouts.settle()
            let pulse = Pulse()
            conference.ask(pulse)
            #expect(await eventually { pulse.isComplete }, "every thread goes on")
            if ["layouts", "avatars", "pictures", "recordings"].contains(folder) {
                let refusal = try #require(await ask(folder, conference))
                #expect(refusal.retryAfter != nil, "\(refusal)")
            }
            let status = lane.status(at: MonotonicClock.now() + .seconds(10))
            #expect(status.running >= .seconds(10) && status.waiting <= lane.most)
            await conference.drain(within: .milliseconds(100))
        }
        gate.open()
    }

    @Test("is told once, and again when it answers")
    func told() async throws {
        let log = CapturedLog()
        let lane = DiskLane("test", most: 1, limit: .seconds(5))
        let watch = DiskWatch([("layouts", lane)], logger: log.logger)
        let gate = Gate()
        lane.submit { gate.wait() }
        #expect(await eventually { lane.status(at: MonotonicClock.now()).waiting == 0 })
        // From when on the job runs, however late this test came to see it.
        let asked = MonotonicClock.now()
        let now = asked - lane.status(at: asked).running
        watch.look(at: now + .milliseconds(4999))
        #expect(log.lines.isEmpty)
        for second in 6..<10 { watch.look(at: now + .seconds(second)) }
        #expect(log.lines.count == 1 && log.lines.first?.text.contains("does not answer") == true)
        #expect(watch.samples(at: now + .seconds(9)).contains { $0.name == "tessera_disk_job_seconds" && $0.value > 8 })
        gate.open()
        #expect(await eventually { lane.status(at: MonotonicClock.now()).running == .zero })
        for second in 10..<12 { watch.look(at: now + .seconds(second)) }
        #expect(log.lines.count == 2 && log.lines.last?.text.contains("answers again") == true)
    }
}
