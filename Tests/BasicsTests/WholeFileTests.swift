import Basics
import Foundation
import Glibc
import TestSupport
import Testing

@Suite struct WholeFileTests {
    private let scratch = ScratchDirectory()

    private func content(_ name: String) -> [UInt8]? {
        FileManager.default.contents(atPath: scratch.file(name)).map { Array($0) }
    }

    private func permissions(_ name: String) -> mode_t {
        var status = stat()
        return stat(scratch.file(name), &status) == 0 ? status.st_mode & 0o777 : 0
    }

    @Test(arguments: [true, false]) func `a file gets new content and permissions`(isSynced: Bool) throws {
        let path = scratch.file("a")
        // What a crash has left.
        try Data("partial".utf8).write(to: URL(fileURLWithPath: path + WholeFile.suffix))
        try WholeFile.replace(path, with: Array("one".utf8), permissions: 0o600, isSynced: isSynced)
        #expect(content("a") == Array("one".utf8) && permissions("a") == 0o600)
        // The usual umask would leave 0o644.
        try WholeFile.replace(path, with: [], permissions: 0o666, isSynced: isSynced)
        #expect(content("a") == [] && permissions("a") == 0o666)
        try WholeFile.replace(path, with: [1, 2], permissions: nil, isSynced: isSynced)
        // Other tests change the umask meanwhile.
        #expect(content("a") == [1, 2] && permissions("a") & 0o711 == 0o600)
        #expect(scratch.files == ["a"])
    }

    @Test func `who has the old file open reads the old content`() throws {
        let path = scratch.file("a")
        try WholeFile.replace(path, with: [1], permissions: 0o600)
        let old = try #require(FileHandle(forReadingAtPath: path))
        try WholeFile.replace(path, with: [2, 3], permissions: 0o600)
        let read = try old.readToEnd()
        try old.close()
        #expect(read == Data([1]) && content("a") == [2, 3])
    }

    @Test func `a missing folder is said, and nothing is made`() {
        #expect(throws: WholeFile.Failure(step: .open, code: ENOENT)) {
            try WholeFile.replace(scratch.file("none/a"), with: [1], permissions: 0o600)
        }
        #expect(scratch.files.isEmpty)
    }

    @Test func `a folder in the way stays, and no partial file does`() throws {
        mkdir(scratch.file("a"), 0o700)
        let failure = WholeFile.Failure(step: .rename, code: EISDIR)
        #expect(throws: failure) { try WholeFile.replace(scratch.file("a"), with: [1], permissions: 0o600) }
        #expect(scratch.files == ["a"] && content("a") == nil)
        #expect("\(failure)" == String(cString: strerror(EISDIR)))
    }

    @Test func `a full disk leaves the old file, and no partial one`() throws {
        let path = scratch.file("a")
        try WholeFile.replace(path, with: [1], permissions: 0o600)
        #expect(throws: WholeFile.Failure(step: .write, code: ENOSPC)) {
            var writes = 0
            try WholeFile.replace(path, with: [2, 3, 4], permissions: 0o600) { file, bytes in
                writes += 1
                return writes > 1
                    ? -Int(ENOSPC) : WholeFile.systemWrite(file, UnsafeRawBufferPointer(rebasing: bytes.prefix(1)))
            }
        }
        #expect(content("a") == [1] && scratch.files == ["a"])
    }

    @Test func `short and interrupted writes go on`() throws {
        let content: [UInt8] = Array(0..<9)
        var writes = 0
        try WholeFile.replace(scratch.file("a"), with: content, permissions: 0o600) { file, bytes in
            writes += 1
            if writes % 2 == 0 { return -Int(EINTR) }
            return WholeFile.systemWrite(file, UnsafeRawBufferPointer(rebasing: bytes.prefix(2)))
        }
        #expect(self.content("a") == content)
    }

    @Test(arguments: [("/a/b", "/a"), ("/a", "/"), ("a/b", "a"), ("a", ".")])
    func `the folder of a path`(path: String, folder: String) { #expect(WholeFile.folder(of: path) == folder) }
}
