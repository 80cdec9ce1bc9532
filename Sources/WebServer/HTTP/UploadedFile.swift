import Dispatch

/// The file in the body of an upload: the body itself, or a field of a form.
package enum UploadedFile {
    /// Forms are read outside of the cooperative pool, one after the other, so that requests of others go on.
    private static let queue = DispatchQueue(label: "forms", qos: .utility)

    /// The uploaded bytes; nil where the form has no such field.
    ///
    /// - Parameter field: the form's field. A body whose type is `image/…` is the file itself.
    /// - Throws: 415 for another content type, 400 for a form that breaks the format.
    package static func read(_ bytes: [UInt8], contentType: String?, field: String) async throws(APIError) -> [UInt8]? {
        if mediaType(contentType)?.hasPrefix("image/") == true { return bytes }
        let result = await withCheckedContinuation { (done: CheckedContinuation<Result<[UInt8]?, APIError>, Never>) in
            queue.async {
                do throws(APIError) {
                    let form = try MultipartBody(bytes, contentType: contentType)
                    done.resume(returning: .success(form.content(field)))
                } catch {
                    done.resume(returning: .failure(error))
                }
            }
        }
        return try result.get()
    }
}
