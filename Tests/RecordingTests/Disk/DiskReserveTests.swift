import Basics
import Foundation
import TestSupport
import Testing

@testable import Recording

@Suite struct DiskReserveTests {
    private static let mebibyte = 1 << 20

    @Test(
        "A recording begins only where more than the reserve is free, and the refusal says how much there is and what to do"
    )
    func start() throws {
        let disk = FakeDisk(size: 100 << 30, free: 1 << 30)
        let reserve = DiskReserve(directory: "/srv/recordings", minimumFree: 1 << 30, disk: disk.disk)
        let error = #expect(throws: RecordingError.self) { try reserve.checkStart() }
        let text = error?.publicDescription ?? ""
        #expect(
            text.contains("1 GiB are free") && text.contains("recording.minimumFree") && !text.contains("/srv"),
            "\(text)")
        #expect(throws: Never.self) {
            try DiskReserve(directory: "r", minimumFree: 1 << 29, disk: disk.disk).checkStart()
        }
        #expect(throws: Never.self) {
            try DiskReserve(directory: "r", minimumFree: 0, disk: FakeDisk(size: 100, free: 0).disk).checkStart()
        }
        #expect(reserve.lastSpace == DiskSpace(free: 1 << 30, size: 100 << 30))
    }

    @Test("Claimed space counts as used until it is released")
    func claims() throws {
        let disk = FakeDisk(size: 1 << 40, free: 100 * Self.mebibyte)
        let reserve = DiskReserve(directory: "r", minimumFree: 60 * Self.mebibyte, disk: disk.disk)
        let first = DiskClaim(reserve)
        try first.grow(30 * Self.mebibyte)
        do {
            let second = DiskClaim(reserve)
            #expect(throws: RecordingError.self) { try second.grow(11 * Self.mebibyte) }
            try second.grow(10 * Self.mebibyte)
            #expect(!reserve.hasRoom(for: 1))
        }
        #expect(reserve.hasRoom(for: 10 * Self.mebibyte))
    }

    @Test("On a file system smaller than the reserve, a tenth is left free, and the server reports it")
    func small() throws {
        let reserve = DiskReserve(
            directory: "r", minimumFree: 1 << 30, disk: FakeDisk(size: 400_000, free: 400_000).disk)
        #expect(reserve.complaint()?.contains("390.6 KiB") == true)
        #expect(reserve.floor(ofSize: 400_000) == 40_000)
        #expect(throws: Never.self) { try reserve.checkStart() }
        #expect(
            DiskReserve(directory: "r", minimumFree: 1 << 30, disk: FakeDisk(size: 1 << 31, free: 1).disk).complaint()
                == nil)
    }

    @Test("Concurrent recordings end in order before the reserve is used", arguments: [1, 6])
    func together(count: Int) async throws {
        let directory = ScratchDirectory()
        let floor = 10 * Self.mebibyte
        let disk = FakeDisk(free: floor + 15_000 * count)
        let reserve = DiskReserve(directory: directory.path, minimumFree: floor, disk: disk.disk)
        let ended = Guarded<[RecordingError]>([])
        let recorders = try (0..<count).map { number in
            try MP4Recorder(
                file: directory.file("\(number).mp4"), width: FlashAndBeep.width, height: FlashAndBeep.height,
                framesPerSecond: 25,
                disk: disk.disk, reserve: reserve, onFailure: { error in ended.withLock { $0.append(error) } })
        }
        let sources = try recorders.map { _ in try FlashAndBeep() }
        for start in stride(from: 0, to: 12_000, by: 1000) {
            for (source, recorder) in zip(sources, recorders) { try source.feed(recorder, start..<start + 1000) }
            for recorder in recorders { _ = await recorder.duration() }
        }
        for recorder in recorders {
            let summary = try await recorder.finish()
            #expect(summary.failure?.isOrderlyEnd == true && summary.duration > .seconds(1), "\(summary)")
            #expect(try RecordingRepair.check(file: summary.file).closedProperly)
            #expect(try #require(try Onsets(summary.file).worstOffset) < 0.045)
        }
        #expect(ended.withLock { $0.count } == count)
        #expect(disk.lowest >= floor, "\(disk.lowest - floor)")
    }
}
