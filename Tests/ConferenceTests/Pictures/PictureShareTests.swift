import Basics
import Foundation
import TestSupport
import Testing

@testable import Conference

/// Whose pictures are deleted, and when, in simulated time.
@Suite("The shares and the ends of chats' pictures")
struct PictureShareTests {
    private let scratch = ScratchDirectory(isMade: false)
    private let start = Instant.zero

    private func folder(blocks: Int = 40_960) -> PictureFolder {
        PictureFolder(path: scratch.path, quota: blocks * PictureFolder.block)
    }

    private func owner(_ room: String?, _ address: UInt32?) -> PictureOwner {
        PictureOwner(
            meeting: room.map { PictureOwner.Meeting(room: $0, id: "m") }, address: address.map { .v4($0) })
    }

    /// Stores a picture. Returns its name.
    @discardableResult
    private func add(
        _ blocks: Int, _ owner: PictureOwner, until end: Instant? = nil, at now: Instant? = nil,
        to folder: inout PictureFolder
    ) throws -> String {
        let name = RandomToken.make(ChatPicture.idLength) + ".jpg"
        _ = try folder.add(
            fakePicture(bytes: blocks * PictureFolder.block), as: name, of: owner, until: end, at: now ?? start)
        return name
    }

    private func isThere(_ name: String) -> Bool { FileManager.default.fileExists(atPath: scratch.path + "/" + name) }

    @Test("a room, and an address, have a tenth of the quota, and delete their own pictures")
    func shares() throws {
        var folder = folder()
        let tenth = 4096
        let friend = try add(1, owner("friends", 1), to: &folder)
        // One room from many addresses, then one address in many rooms.
        var ofRoom: [String] = []
        for number in 0..<6 { ofRoom.append(try add(1024, owner("crowd", UInt32(10 + number)), to: &folder)) }
        #expect(ofRoom.map(isThere) == [false, false, true, true, true, true])
        var ofAddress: [String] = []
        for number in 0..<6 { ofAddress.append(try add(1024, owner("room \(number)", 99), to: &folder)) }
        #expect(ofAddress.map(isThere) == [false, false, true, true, true, true])
        #expect(isThere(friend) && folder.bytes == (2 * tenth + 1) * PictureFolder.block)
    }

    @Test(
        "where all exceed the quota, the address that has most gives way, however many there are", arguments: [5, 60])
    func strangers(addresses: Int) throws {
        var folder = folder(blocks: 8192)
        var friends: [String] = []
        for number in 0..<20 { friends.append(try add(8, owner("friends", UInt32(number)), to: &folder)) }
        // As the review did: 135 pictures of 8 MiB, but of a fourth of the size beside a quota of a 32nd.
        for number in 0..<500 { try add(64, owner(nil, UInt32(1000 + number % addresses)), to: &folder) }
        #expect(friends.allSatisfy(isThere) && folder.bytes <= 8192 * PictureFolder.block)
        let late = try add(64, owner("friends", 7), to: &folder)
        #expect(isThere(late) && friends.allSatisfy(isThere))
    }

    @Test("a picture of the largest size has room in a small quota")
    func small() {
        #expect(folder(blocks: 10).share == 10 * PictureFolder.block)
        #expect(folder(blocks: 4096).share == PictureFolder.cost(of: ChatPicture.maxBytes))
    }

    @Test("what no chat sends is gone after a minute, and what one sends stays a day")
    func unsent() throws {
        var folder = folder()
        let end = start + PictureFolder.unsentLife
        let (unsent, sent) = (
            try add(1, owner(nil, 1), until: end, to: &folder), try add(1, owner(nil, 1), until: end, to: &folder)
        )
        folder.keep(sent, until: start + PictureFolder.personalLife)
        folder.keep("unknown.jpg", until: start + PictureFolder.personalLife)
        #expect(folder.expire(at: start + .seconds(59)) { _ in false } == 0)
        #expect(folder.expire(at: end) { _ in false } == 1)
        #expect(!isThere(unsent) && isThere(sent))
        #expect(folder.expire(at: start + PictureFolder.personalLife) { _ in false } == 1 && !isThere(sent))
        #expect(folder.bytes == 0)
    }

    @Test("pictures end with their meeting, ten minutes later")
    func meetings() throws {
        var folder = folder()
        let (past, present) = (
            try add(1, owner("past", 1), to: &folder), try add(1, owner("present", 1), to: &folder)
        )
        let isOver: (PictureOwner.Meeting) -> Bool = { $0.room == "past" }
        #expect(folder.expire(at: start + .seconds(7200)) { _ in false } == 0, "a meeting may last")
        #expect(folder.expire(at: start + .seconds(7200), isOver: isOver) == 0)
        #expect(folder.expire(at: start + .seconds(7799), isOver: isOver) == 0)
        #expect(folder.expire(at: start + .seconds(7800), isOver: isOver) == 1)
        #expect(!isThere(past) && isThere(present))
        #expect(folder.expire(at: start + .seconds(100_000)) { _ in true } == 0)
    }

    @Test("pictures of former runs end after an hour")
    func former() throws {
        var first = folder()
        let name = try add(1, owner("r", 1), to: &first)
        var second = folder()
        second.readOnce(at: start)
        #expect(second.bytes == PictureFolder.block)
        #expect(second.expire(at: start + .seconds(3599)) { _ in false } == 0)
        #expect(second.expire(at: start + .seconds(3600)) { _ in false } == 1 && !isThere(name))
    }
}
