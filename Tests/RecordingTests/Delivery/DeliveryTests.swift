import Basics
import Foundation
import TestSupport
import Testing

@testable import Recording

@Suite("Deliveries of recordings")
struct DeliveryTests {
    @Test("the wait doubles up to an hour, and runs are given up after retryFor")
    func backoff() {
        var delivery = RecordingDelivery()
        var now = Date(timeIntervalSince1970: 1_800_000_000)
        var waits: [Int] = []
        for _ in 0..<200 {
            delivery.begin(process: 7)
            #expect(delivery.state == .running && delivery.process == 7)
            guard let wait = delivery.fail("no", at: now, retryFor: .seconds(72 * 3600)) else { break }
            #expect(delivery.state == .pending && delivery.process == nil)
            waits.append(Int(wait.inSeconds))
            now += wait.inSeconds
        }
        #expect(waits.prefix(12) == [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600])
        #expect(delivery.state == .failed && delivery.message == "no" && delivery.attempts == waits.count + 1)
        #expect((80...84).contains(delivery.attempts))
        // A clock that is set back does not end it early, nor a retry for zero a second time.
        var other = RecordingDelivery()
        other.begin(process: 1)
        #expect(other.fail("a", at: now, retryFor: .seconds(60)) != nil)
        other.begin(process: 1)
        #expect(other.fail("b", at: now - 86400, retryFor: .seconds(60)) != nil)
        var once = RecordingDelivery()
        once.begin(process: 1)
        #expect(once.fail("c", at: now, retryFor: .zero) == nil && once.state == .failed)
    }

    @Test("one recording is delivered at a time, by the time of its next run")
    func queue() {
        func at(_ seconds: Int) -> Instant { .zero + .seconds(seconds) }
        var queue = DeliveryQueue()
        for id in ["a", "b", "c"] { queue.add(id, due: at(10)) }
        #expect(queue.take(at: at(9)) == nil && queue.nextDue == at(10))
        #expect(queue.take(at: at(10)) == "a" && queue.take(at: at(20)) == nil && queue.nextDue == nil)
        queue.add("a", due: at(0))
        queue.add("b", due: at(11))
        #expect(queue.count == 3)
        queue.end(again: .seconds(5), at: at(12))
        #expect(queue.take(at: at(12)) == "c")
        queue.end(again: nil, at: at(12))
        queue.end(again: nil, at: at(12))
        #expect(queue.take(at: at(12)) == "b")
        queue.end(again: nil, at: at(13))
        #expect(queue.nextDue == at(17) && queue.take(at: at(17)) == "a" && queue.count == 1)
    }

    private func job(room: String = "weekly", file: String = "/r/a.mp4", files: [String] = ["/r/a.mp4"]) -> DeliveryJob
    {
        let entry = RecordingEntry(
            id: "20260704-a", room: room, file: "a.mp4", files: ["a.mp4"], state: .finished,
            startedAt: Date(timeIntervalSince1970: 1_800_000_000), duration: 61.5, bytes: 7, wasRecovered: false)
        return DeliveryJob(entry, file: file, files: files)
    }

    @Test("placeholders become arguments, and what a value has in it stays in its argument")
    func arguments() {
        let odd = "/a \"b\" 'c'\n{id} $(d)/e.mp4"
        let command = DeliveryCommand(["sh", "{file}", "--to=s3:m/{room}/{id}.mp4", "{files}", "{x}", "{room}", "{"])
        let arguments = command.arguments(for: job(room: "-rf {file}", file: odd, files: [odd, "/two"]))
        #expect(
            arguments == [
                "sh", odd, "--to=s3:m/-rf {file}/20260704-a.mp4", odd, "/two", "{x}", "_rf {file}", "{",
            ])
    }

    @Test("the environment has the recording, and not the server's own settings")
    func environment() throws {
        let server = ["HOME": "/h", "TESSERA_AUTH_SECRET": "s", "TESSERA": "x", "RCLONE_CONFIG": "c"]
        let values = DeliveryCommand.environment(for: job(files: ["/r/a.mp4", "/r/a.vtt"]), from: server)
        #expect(
            values == [
                "HOME": "/h", "RCLONE_CONFIG": "c", "TESSERA_ID": "20260704-a", "TESSERA_ROOM": "weekly",
                "TESSERA_FILE": "/r/a.mp4", "TESSERA_FILES": "/r/a.mp4\n/r/a.vtt", "TESSERA_DURATION": "61.500",
                "TESSERA_BYTES": "7", "TESSERA_STARTED": "2027-01-15T08:00:00Z",
            ])
        let many = Array(repeating: "/recordings/a.mp4", count: 10_000)
        #expect(DeliveryCommand.environment(for: job(files: many), from: [:])["TESSERA_FILES"] == nil)
        let json = try JSONDecoder().decode([String: AnyJSON].self, from: Data(job(room: "a\"b").json))
        #expect(json["room"]?.text == "a\"b" && json["startedAt"]?.text == "2027-01-15T08:00:00Z")
    }

    private struct AnyJSON: Decodable {
        var text: String?
        init(from decoder: any Decoder) throws { text = try? decoder.singleValueContainer().decode(String.self) }
    }

    @Test("what cannot be used is a fault")
    func faults() {
        for words in [[""], ["{file}"], ["rclone", "a{files}"], ["x", "{files}{files}"]] {
            #expect(DeliveryCommand.fault(of: words) != nil)
        }
        for words in [[], ["rclone"], ["rclone", "{files}", "{file}:{id}"]] {
            #expect(DeliveryCommand.fault(of: words) == nil)
        }
    }
}

@Suite("Deliveries in the catalogue", .serialized)
struct CatalogueDeliveryTests {
    private func finish(_ catalogue: RecordingCatalogue, _ entry: RecordingEntry, parts: Int = 1) throws {
        let names = (1...parts).map { $0 == 1 ? entry.file : "\(entry.id)-\($0).mp4" }
        for name in names { try Data(count: 10).write(to: URL(fileURLWithPath: catalogue.path(name))) }
        try catalogue.finish(
            entry.id,
            .success(
                RecordingSummary(
                    file: catalogue.path(of: entry), files: names.map { catalogue.path($0) }, duration: .seconds(2),
                    bytes: 10 * parts, tracks: ["h264"])))
    }

    @Test("an open delivery survives each kind of restart, and ends once")
    func restarts() throws {
        let directory = ScratchDirectory()
        let catalogue = try RecordingCatalogue(directory: directory.path, delivers: true)
        let entry = try catalogue.begin(room: "r")
        let pending = directory.file("\(entry.id).pending")
        func again() throws -> RecordingDelivery? {
            try RecordingCatalogue(directory: directory.path).entry(entry.id)?.delivery
        }
        #expect(FileManager.default.fileExists(atPath: pending), "from its begin: a crash leaves it for the next start")
        #expect(try again()?.state == .pending)
        try finish(catalogue, entry)
        var delivery = try #require(catalogue.entry(entry.id)?.delivery)
        delivery.begin(process: 99)
        try catalogue.setDelivery(delivery, of: entry.id)
        #expect(try again() == delivery)
        delivery.succeed(location: "s3:x")
        try catalogue.setDelivery(delivery, of: entry.id)
        #expect(!FileManager.default.fileExists(atPath: pending))
        #expect(try again()?.state == .delivered && again()?.location == "s3:x")
        // A crash between the sidecar and the removal.
        try Data("{".utf8).write(to: URL(fileURLWithPath: pending))
        #expect(try again()?.state == .delivered)
        #expect(!FileManager.default.fileExists(atPath: pending))
    }

    @Test("a broken file of a delivery begins it anew, and one that is removed by hand ends it")
    func byHand() throws {
        let directory = ScratchDirectory()
        let catalogue = try RecordingCatalogue(directory: directory.path, delivers: true)
        let entry = try catalogue.begin(room: "r")
        try finish(catalogue, entry)
        try Data("{\"state\":\"dancing\"}".utf8).write(to: URL(fileURLWithPath: directory.file("\(entry.id).pending")))
        #expect(try RecordingCatalogue(directory: directory.path).entry(entry.id)?.delivery == RecordingDelivery())
        try FileManager.default.removeItem(atPath: directory.file("\(entry.id).pending"))
        #expect(try RecordingCatalogue(directory: directory.path).entry(entry.id)?.delivery == nil)
    }

    @Test("a recording without media leaves no delivery behind")
    func nothing() throws {
        let directory = ScratchDirectory()
        let catalogue = try RecordingCatalogue(directory: directory.path, delivers: true)
        let entry = try catalogue.begin(room: "r")
        #expect(try catalogue.finish(entry.id, .failure(.nothingRecorded(path: ""))) == nil)
        #expect(directory.files.isEmpty)
    }

    @Test("all files of a recording are known, and deleted in steps with the sidecar last")
    func files() throws {
        let directory = ScratchDirectory()
        let catalogue = try RecordingCatalogue(directory: directory.path, delivers: true)
        let entry = try catalogue.begin(room: "r")
        let other = try catalogue.begin(room: "r")
        try finish(catalogue, entry, parts: 3)
        try finish(catalogue, other)
        for suffix in [".timeline.json", ".vtt"] {
            try Data(count: 5).write(to: URL(fileURLWithPath: directory.file(entry.id + suffix)))
        }
        let done = try #require(catalogue.entry(entry.id))
        let names = ["\(entry.id).mp4", "\(entry.id)-2.mp4", "\(entry.id)-3.mp4"]
        #expect(
            catalogue.files(of: done).map { ($0 as NSString).lastPathComponent }
                == names + ["\(entry.id).timeline.json", "\(entry.id).vtt"])
        #expect(catalogue.size(of: done) == 40)
        #expect(try !catalogue.delete(done, atMost: 2) && catalogue.files(of: done).count == 3)
        #expect(try RecordingCatalogue(directory: directory.path).entry(entry.id) != nil)
        #expect(try !catalogue.delete(done, atMost: 2) && catalogue.delete(done, atMost: 2))
        #expect(catalogue.entry(entry.id) == nil && catalogue.count == 1)
        #expect(directory.files.allSatisfy { $0.hasPrefix(other.id) } && directory.files.count == 3)
        // A directory, which unlink(2) refuses.
        let obstacle = directory.file(other.id + ".vtt")
        try FileManager.default.createDirectory(atPath: obstacle, withIntermediateDirectories: false)
        let kept = try #require(catalogue.entry(other.id))
        #expect(throws: RecordingError.self) { try catalogue.delete(kept, atMost: 2) }
        #expect(catalogue.entry(other.id) != nil, "what cannot be removed stays listed")
        try FileManager.default.removeItem(atPath: obstacle)
        var foreign = kept
        foreign.files = ["../../etc/passwd", "/etc/passwd"]
        #expect(catalogue.files(of: foreign).isEmpty, "a sidecar of somebody else leads nowhere")
    }
}
