import Basics
import Foundation
import Glibc
import TestSupport
import Testing

@Suite struct WholeFileTests {
    private let scratch = ScratchDirectory()
    private var path: String { scratch.file("file.json") }

    private func content(_ path: String) -> [UInt8]? { FileManager.default.contents(atPath: path).map { Array($0) } }
    private func mode(_ path: String) -> Int? {
        (try? FileManager.default.attributesOfItem(atPath: path))?[.posixPermissions] as? Int
    }

    @Test(arguments: [true, false])
    func `a file is made and replaced, with the permissions of the call and nothing beside it`(isSynced: Bool) throws {
        try WholeFile.replace(path, with: Array("first, and longer".utf8), mode: 0o644, isSynced: isSynced)
        #expect(content(path) == Array("first, and longer".utf8) && mode(path) == 0o644)
        try WholeFile.replace(path, with: Data("second".utf8), mode: 0o600, isSynced: isSynced)
        #expect(content(path) == Array("second".utf8) && mode(path) == 0o600)
        try WholeFile.replace(path, with: AnyCollection("third".utf8), mode: 0o400, isSynced: isSynced)
        #expect(content(path) == Array("third".utf8) && mode(path) == 0o400)
        try WholeFile.replace(path, with: [UInt8](), mode: 0o600, isSynced: isSynced)
        #expect(content(path) == [] && scratch.files == ["file.json"])
    }

    @Test func `what a crash left beside goes, and a link there is not followed`() throws {
        let beside = path + WholeFile.unfinished
        try Data("a longer file of a crash".utf8).write(to: URL(fileURLWithPath: beside))
        try WholeFile.replace(path, with: [1], mode: 0o600)
        #expect(content(path) == [1] && scratch.files == ["file.json"])
        let other = scratch.file("other")
        try Data([7]).write(to: URL(fileURLWithPath: other))
        try FileManager.default.createSymbolicLink(atPath: beside, withDestinationPath: other)
        try WholeFile.replace(path, with: [2], mode: 0o600)
        #expect(content(path) == [2] && content(other) == [7] && scratch.files == ["file.json", "other"])
    }

    @Test func `the new file's name has the end that the caller wants`() throws {
        let beside = path + ".part"
        try Data([9]).write(to: URL(fileURLWithPath: beside))
        try WholeFile.replace(path, with: [1], mode: 0o600, unfinished: ".part")
        #expect(content(path) == [1] && scratch.files == ["file.json"])
    }

    @Test func `a failure says why, and leaves what was there and nothing beside it`() throws {
        // A folder has the name.
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        let fault = #expect(throws: WholeFile.Fault.self) { try WholeFile.replace(path, with: [1], mode: 0o600) }
        #expect(fault?.code == EISDIR && fault?.description == "Is a directory")
        #expect(scratch.files == ["file.json"])
        // A folder has the name beside, so that nothing can be written.
        let next = scratch.file("next")
        try WholeFile.replace(next, with: [1], mode: 0o600)
        try FileManager.default.createDirectory(
            atPath: next + WholeFile.unfinished, withIntermediateDirectories: false)
        let other = #expect(throws: WholeFile.Fault.self) { try WholeFile.replace(next, with: [2], mode: 0o600) }
        #expect(other?.code == EEXIST && content(next) == [1])
    }

    @Test func `a folder that is missing is not made`() {
        let lost = scratch.file("none/file.json")
        let fault = #expect(throws: WholeFile.Fault.self) { try WholeFile.replace(lost, with: [1], mode: 0o600) }
        #expect(fault?.code == ENOENT && fault?.description == "No such file or directory")
        #expect(throws: WholeFile.Fault.self) { try WholeFile.make(lost, with: [1], mode: 0o600) }
        #expect(scratch.files == [])
    }

    @Test func `of several that make a file one does, and the others are told`() async throws {
        let outcomes: [Int32?] = await withTaskGroup(of: Int32?.self) { group in
            for number in 0..<8 as Range<UInt8> {
                group.addTask { [path] in
                    do throws(WholeFile.Fault) {
                        try WholeFile.make(path, with: [UInt8](repeating: number, count: 32), mode: 0o600)
                        return nil
                    } catch {
                        return error.code
                    }
                }
            }
            return await group.reduce(into: [Int32?]()) { $0.append($1) }
        }
        #expect(outcomes.count { $0 == nil } == 1 && outcomes.count { $0 == EEXIST } == 7)
        let bytes = try #require(content(path))
        #expect(bytes.count == 32 && Set(bytes).count == 1, "of one of them")
        #expect(mode(path) == 0o600 && scratch.files == ["file.json"])
    }

    @Test(arguments: [("/a/b.json", "/a"), ("/b.json", "/"), ("b.json", "."), ("a/b.json", "a")])
    func `the folder of a path`(path: String, folder: String) {
        #expect(WholeFile.folder(of: path) == folder)
    }
}
